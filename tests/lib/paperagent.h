/* An engine of paper, for the doors: see paperagent.c. */
#ifndef TESTS_LIB_PAPERAGENT_H
#define TESTS_LIB_PAPERAGENT_H

struct engine;
struct loop;

struct engine *paper_engine(struct loop *);
/* No echo is the end of an A2A task: it stays "working". */
void paper_engine_goes_on(struct engine *);
void paper_engine_free(struct engine *);

#endif
