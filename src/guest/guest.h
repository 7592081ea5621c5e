/*
 * guest: the front's end of one stream to the agent of a sandbox.
 *
 * Many calls at once, multiplexed by number, each with its own credit in both
 * directions, so that no call can fill our memory.  The other side is hostile:
 * a frame that breaks a rule ends the stream (owner.gone), never the process.
 * Callbacks come from the loop, never from inside a call of this module.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct guest;
struct guest_call;
struct loop;

struct guest_owner {
	void (*hello)(void *arg);
	/* The stream is over; guest_end it, now or when it is known why: its
	 * calls wait for that. */
	void (*gone)(void *arg, const struct err *);
	void *arg;
};

struct guest_conf {
	struct loop *loop;
	int fd; /* taken */
	uint32_t generation;
	const char *const *env; /* NULL-ended "NAME=value" */
	const char *cwd;
	unsigned hello_ms; /* deadline for Hello */
	bool early;        /* calls may be made before it: they wait there */
	struct guest_owner owner;
};

struct guest *guest_new(const struct guest_conf *);
/* Running calls end with this error, soon.  The guest is gone at once. */
void guest_end(struct guest *, const struct err *why);
void guest_free(struct guest *); /* the same; "the sandbox was stopped" */
bool guest_ready(const struct guest *);

enum arg_type { ARG_TEXT, ARG_INT, ARG_BOOL, ARG_LIST };

struct guest_arg {
	const char *name; /* NULL ends the array */
	enum arg_type type;
	const void *text; /* ARG_TEXT: bytes */
	size_t len;
	int64_t num;             /* ARG_INT, ARG_BOOL */
	const char *const *list; /* ARG_LIST: NULL-ended */
};

enum entry_type { ENTRY_FILE, ENTRY_DIR, ENTRY_SYMLINK, ENTRY_OTHER };

struct guest_entry {
	const uint8_t *path, *name; /* bytes as they are, not NUL-ended */
	size_t path_len, name_len;
	enum entry_type type;
	int64_t size, mtime_ms; /* size -1: none */
};

struct guest_done {
	const struct err *err; /* NULL: the tool did what it was asked to */
	bool has_exit, running, flag;
	int exit;
	uint64_t cut_out, cut_err;
};

struct guest_sink {
	/* stream: 1 stdout, 2 stderr, 3 the file.  Call guest_took when used. */
	void (*output)(void *arg, int stream, const uint8_t *, size_t);
	void (*entry)(void *arg, const struct guest_entry *); /* may be NULL */
	void (*room)(void *arg); /* input may go on; may be NULL */
	void (*done)(void *arg, const struct guest_done *); /* exactly once */
};

struct guest_request {
	const char *tool;
	const struct guest_arg *arg;
	uint32_t answer_ms, work_ms;   /* 0: none.  See guest.proto */
	uint32_t cap;                  /* bytes kept of each stream; 0: all */
	const struct guest_sink *sink; /* static */
	void *sink_arg;
};

/* NULL and err if the stream is over or not ready; see .early. */
struct guest_call *guest_call(struct guest *, const struct guest_request *,
    struct err *);
void guest_took(struct guest_call *, size_t n); /* output bytes used up */
size_t guest_room(const struct guest_call *); /* input bytes it may take now */
void guest_input(struct guest_call *, const void *, size_t n); /* n <= room */
void guest_input_end(struct guest_call *);
void guest_resize(struct guest_call *, unsigned rows, unsigned cols);
/* End the work; done is still called. */
void guest_cancel(struct guest_call *);
/* The caller is gone and the work goes on: no callback after this. */
void guest_detach(struct guest_call *);

/* What Hello said: one tool each; index until NULL. */
struct guest_param {
	const char *name, *text;
	enum arg_type type;
	int64_t min, max;
	bool optional;
};
struct guest_tool {
	const char *name, *text;
	bool internal;
	const struct guest_param *param;
	size_t nparam;
};
const struct guest_tool *guest_tool(const struct guest *, size_t index);

#endif
