/*
 * bed: a broker over an isolator of paper, for tests.
 *
 * Descriptors of "processes" are eventfds: written to, they have ended.
 */
#ifndef TESTS_UNIT_BED_H
#define TESTS_UNIT_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "daemon/broker.h"

struct bed_fake {
	int starts, stops, freezes, attaches, drops, confines;
	struct box box;
	bool fail, v1;
	int oom;   /* of the last start, if v1 */
	int pidfd; /* of the last start: write to it and it "ends" */
	int fd[3]; /* what a confined process was given */
};
extern struct bed_fake fake;

struct bed {
	struct broker b;
	char dir[32];
	int far; /* the front's end */
	int idles;
};
extern struct bed t;

/* What is asked, and what came back. */
extern struct link_msg msg, got;

int bed_set_up(void **);
int bed_tear_down(void **);
struct peer *bed_peer(unsigned role, int *far);
/* Send msg through the table; the answer's type, or -1: no trust any more. */
int bed_ask(struct peer *, int far, uint16_t type, const void *body, size_t n);
int bed_ask_front(uint16_t type, const void *body, size_t n);
enum err_code bed_why(void); /* the answer is an error: which */
void bed_layer_on_disk(uint8_t first);
struct broker_build bed_good_build(uint8_t id);
void bed_build(uint8_t id);

#endif
