/*
 * boxes: the table of live sandboxes.
 *
 * What the broker knows of each: its number, what the isolator gave back, its
 * slot and the layers it stands on.  Starts and ends nothing itself.
 */
#ifndef DAEMON_BOXES_H
#define DAEMON_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "isolator/backend.h"
#include "wire/broker.h"

struct boxes;
struct broker;
struct watch;

struct live {
	uint8_t id[BROKER_ID];
	char name[2 * BROKER_ID + 1];
	struct instance instance;
	uint32_t slot;
	uint32_t ipv4;
	bool stopping; /* the front asked for it */
	bool starved;  /* out of memory: we ended it */
	int oom;       /* readable when that happens; -1 */
	int netns;     /* its way out; -1: none */
	uint8_t (*layer)[BROKER_DIGEST];
	size_t nlayer;
	struct watch *end, *memory; /* on the pidfd, on .oom */
	struct broker *of;          /* for those */
	TAILQ_ENTRY(live) next;
	LIST_ENTRY(live) same; /* of one hash */
};

struct boxes *boxes_new(void);
void boxes_free(struct boxes *); /* what is in it goes, nothing is stopped */
struct live *boxes_add(struct boxes *, const uint8_t id[BROKER_ID]);
void boxes_remove(struct boxes *, struct live *); /* frees it, not .instance */
struct live *boxes_find(const struct boxes *, const uint8_t id[BROKER_ID]);
struct live *boxes_next(const struct boxes *, const struct live *after);
uint32_t boxes_count(const struct boxes *);
bool boxes_stand_on(const struct boxes *, const uint8_t digest[BROKER_DIGEST]);
/*
 * A page of all numbers.  from 0 takes the list that later pages are cut from,
 * so that an end in between hides nobody.
 */
void boxes_page(struct boxes *, uint32_t from, struct broker_live *);

#endif
