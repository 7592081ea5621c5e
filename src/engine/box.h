/*
 * box: a sandbox of an agent's own, filled with its files, and the one program
 * that runs in it.
 *
 * Made when it is asked for and released when it is freed; the reaper leaves it
 * alone in between.  What befalls it (it can't be made, a file does not fit,
 * the program ends, the sandbox dies) is told once, by ended.  Knows tars and
 * bytes, not what they mean.
 */
#ifndef ENGINE_BOX_H
#define ENGINE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct box;
struct err;
struct guest_done;
struct loop;
struct manager;

/* A tar that is unpacked below path before the program runs. */
struct box_tar {
	const char *path;
	int fd; /* read from its beginning, borrowed until ready; -1: bytes */
	const void *bytes;
	size_t n;
};
#define BOX_TARS 4

struct box_ops {
	void (*ready)(void *arg);
	/* stream 1, 2 of the program, 3 of a tar; box_took() when used. */
	void (*output)(void *arg, int stream, const uint8_t *, size_t);
	void (*room)(void *arg); /* input may go on; may be NULL */
	/* The last word unless box_run or box_pack follows: the call is over
	 * (done), or there is no sandbox (why).  One of them is NULL. */
	void (*ended)(void *arg, const struct guest_done *done,
	    const struct err *why);
};

struct box_conf {
	struct loop *loop;
	struct manager *manager;
	const char *agent; /* whose it is, for who lists sandboxes */
	const char *type, *image, *net; /* NULL: the type's */
	int tenant;
	const struct box_tar *tar;
	size_t ntar;
	const struct box_ops *ops;
	void *arg;
};

/* Nothing is told from within; what can't be made is told by ended. */
struct box *box_new(const struct box_conf *);
void box_free(struct box *);
const char *box_id(const struct box *); /* of its sandbox; "" none yet */

struct box_program {
	const char *const *argv, *const *env; /* NULL-ended */
	const char *cwd;
	bool input;
	uint32_t work_ms; /* 0: as long as it likes */
};
/* After ready, or the end of another one.  -1: err, and ended is not called. */
int box_run(struct box *, const struct box_program *, struct err *);
/* The directory as a tar: output of stream 3, then ended. */
int box_pack(struct box *, const char *path, struct err *);
void box_took(struct box *, size_t n);
size_t box_room(const struct box *);
void box_input(struct box *, const void *, size_t n); /* n <= room */
void box_kill(struct box *); /* the program: ended is told when it has */

/* Sandboxes that a former life of this process made for agents go. */
void box_sweep(struct manager *);

#endif
