/* An engine of paper, for the doors: see paperagent.c. */
#ifndef TESTS_LIB_PAPERAGENT_H
#define TESTS_LIB_PAPERAGENT_H

struct engine;
struct loop;

struct engine *paper_engine(struct loop *);
void paper_engine_free(struct engine *);

#endif
