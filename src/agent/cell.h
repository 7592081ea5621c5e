/*
 * cell: calls of run_ipython_cell, one after the other.
 *
 * Each cell has pipes of its own for its output, so that nothing of one can
 * show in another.  A cell that nobody waits for any more is interrupted when
 * another has waited for a second; its state is kept.
 */
#ifndef AGENT_CELL_H
#define AGENT_CELL_H

#include <stddef.h>

struct call;
struct err;
struct world;

void cell_init(const struct world *);
int cell_add(struct call *, const char *code, size_t n, struct err *);

#endif
