/*
 * fakebroker: the other end of the front's link, for tests.
 *
 * Answers what a front asks, with a fake agent behind each stream it hands
 * out.  No root, no processes: a box is a socket pair.  The fields may be set
 * and read by the test at any time.
 */
#ifndef TESTS_LIB_FAKEBROKER_H
#define TESTS_LIB_FAKEBROKER_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/broker.h"

#define FAKE_BOXES 512

struct fakeagent;
struct faketool;
struct loop;
struct watch;

struct fakebox {
	uint8_t id[BROKER_ID];
	struct fakeagent *agent;
	struct broker_build build;
	bool live, frozen;
};

struct fakebroker {
	struct loop *loop;
	int fd;
	struct watch *in;
	int images;                   /* a directory; see fakebroker_image */
	char path[32];                /* its */
	const struct faketool *tools; /* NULL: fakeagent_tools */
	uint32_t generation;
	struct fakebox box[FAKE_BOXES];
	/* what the test wants */
	unsigned fail_builds; /* so many are refused */
	bool hold;            /* builds are not answered ... */
	bool silent;          /* agents say no Hello */
	bool deaf;            /* stops are answered, and nothing ends */
	bool die_after_list;  /* the last box, once the living are listed */
	/* what it saw */
	unsigned builds, stops, freezes, attaches, lives;
	uint32_t held[FAKE_BOXES]; /* call numbers of held builds */
	struct broker_build *held_build[FAKE_BOXES];
	unsigned nheld;
	uint8_t listed[FAKE_BOXES][BROKER_ID];
	unsigned nlisted;
};

/* A link's both ends: *front is for the front. */
struct fakebroker *fakebroker_new(struct loop *, int *front);
void fakebroker_free(struct fakebroker *);
/* The same boxes at a new link: the front has been started again. */
void fakebroker_relink(struct fakebroker *, int *front);
/* A record of an image in fb->images, of two layers. */
void fakebroker_image(struct fakebroker *, const char *name, char digit);
unsigned fakebroker_count(const struct fakebroker *); /* live boxes */
struct fakebox *fakebroker_box(struct fakebroker *, unsigned n); /* nth live */
struct fakebox *fakebroker_find(struct fakebroker *, const char *hex);
/* The box ends by itself; end is an enum broker_end. */
void fakebroker_end(struct fakebroker *, struct fakebox *, int end, int status);
void fakebroker_release(struct fakebroker *); /* held builds go on */
void fakebroker_drain(struct fakebroker *);   /* says BROKER_DRAIN */

#endif
