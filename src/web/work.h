/*
 * work: one tool run in a sandbox for somebody who waits for all of its output.
 *
 * Finds the sandbox (restoring it if need be), calls the tool, gathers what it
 * prints up to a bound, and tells the outcome once.  The answer comes in time
 * for a client whose clock is RUNTIME_SANDBOX_TIMEOUT, whatever the sandbox
 * does: when the tool is not done by then it goes on, and the outcome says so.
 * Knows no HTTP.
 */
#ifndef WEB_WORK_H
#define WEB_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

struct app;
struct err;
struct guest_arg;
struct guest_entry;
struct sandbox;
struct work;

#define WORK_ARGS 4

struct work_request {
	struct app *app;
	int tenant;
	const char *identity;
	const char *tool;
	/* At most WORK_ARGS; what they point to is borrowed until the outcome. */
	const struct guest_arg *arg;
	int64_t started_ms; /* clock_ms() when the client asked */
	uint32_t work_ms;   /* bound on the work; 0: the type's */
	uint32_t cap;       /* of each stream; 0: the configured one */
	/* What the tool reads, if it does; borrowed until the outcome. */
	const void *input;
	size_t input_len;
	/* Of a tool that lists; told with fn's arg; may be NULL. */
	void (*entry)(void *arg, const struct guest_entry *);
};

struct work_outcome {
	/* The sandbox can't be had, or ended: nothing else is set. */
	const struct err *err;
	const struct err *tool_err; /* the tool's own: could not do it */
	struct str out, errs;       /* of stdout, stderr: yours to take */
	bool running;               /* answered early */
	bool has_exit;
	int exit;
	uint64_t cut;            /* bytes of stdout left out */
	unsigned waited_s;       /* when running: how long we waited */
	struct sandbox *sandbox; /* held until the callback returns; or NULL */
};

typedef void work_fn(void *arg, struct work_outcome *);

/* NULL and err: refused at once, fn is not called. */
struct work *work_start(const struct work_request *, work_fn *, void *arg,
    struct err *);
/* The client is gone: what has been started is finished without it. */
void work_forget(struct work *);

/* How long a client may be kept waiting, from when it asked. */
int64_t work_patience_ms(const struct app *);

#endif
