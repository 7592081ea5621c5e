/*
 * lent: directories that root handed over, under names that can't be guessed.
 */
#ifndef DAEMON_LENT_H
#define DAEMON_LENT_H

#include <stdint.h>
#include "wire/broker.h"

struct err;
struct lent;

struct lent *lent_new(void);
void lent_free(struct lent *);
/* Takes the descriptor, which has to be a directory's. */
int lent_add(struct lent *, int fd, uint8_t handle[BROKER_ID], struct err *);
/* Borrowed; -1: no such handle, or too old. */
int lent_find(struct lent *, const uint8_t handle[BROKER_ID], struct err *);

#endif
