/*
 * template: what is the same in every sandbox, made once.
 *
 * /dev: a handful of nodes and links on a small tmpfs.  /sys: the description
 * of processors and memory, because programs size themselves by it, and
 * nothing else of the machine.
 */
#ifndef ISOLATOR_TEMPLATE_H
#define ISOLATOR_TEMPLATE_H

struct err;

/* Both: attached at dir/name, which exists; read-only. */
int template_dev(int dir, const char *name, struct err *);
/* host: its /sys, or -1 if it has none. */
int template_sys(int dir, const char *name, int host, struct err *);

#endif
