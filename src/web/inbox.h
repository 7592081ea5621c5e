/*
 * inbox: one request to the API that a sandbox offers behind /proxy/IDENTITY/.
 *
 * Waits until the sandbox is ready, holds it, makes at most one call of the
 * agent at a time, and ends all of it when the client leaves.  An operation
 * embeds struct inbox as its first member.  A sandbox that can't be had is
 * 404 "sandbox not found: IDENTITY".
 */
#ifndef WEB_INBOX_H
#define WEB_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct err;
struct guest_arg;
struct guest_call;
struct guest_entry;
struct guest_sink;
struct http_req;
struct inbox;
struct sandbox;
struct str;
struct wait;

struct inbox_kind {
	size_t size; /* of the struct that embeds inbox */
	/* The sandbox is ready: reply or call.  -1: err is replied. */
	int (*go)(struct inbox *, struct err *);
	/* Releases what the operation added; NULL: nothing. */
	void (*drop)(struct inbox *);
	bool finish; /* the call goes on when the client leaves */
	bool native; /* errors as the native API tells them */
};

struct inbox {
	struct http_req *q;
	struct app *app;
	const struct inbox_kind *kind;
	const char *identity;
	int64_t started_ms;
	struct wait *wait;
	struct sandbox *sb;      /* held */
	struct guest_call *call; /* NULL it when done is called */
	size_t owed;             /* output not yet taken */
};

/* Zeroed but for struct inbox; the request's data from now on. */
void *inbox_new(struct http_req *, const struct inbox_kind *);
/* Look for the sandbox, then go. */
int inbox_start(struct inbox *, struct err *);

struct inbox_call {
	const char *tool;
	const struct guest_arg *arg;
	const struct guest_sink *sink; /* its arg is the inbox */
	bool patient;                  /* no deadline: it streams */
	uint32_t cap;
};
int inbox_call(struct inbox *, const struct inbox_call *, struct err *);

/* err to status and {"detail":text}. */
void inbox_fail(struct inbox *, const struct err *);
/*
 * Output of the call goes to the client: n bytes came, of which the reply now
 * holds what is to be sent.  Takes them from the agent when the client has room.
 */
void inbox_sent(struct inbox *, size_t n);
/* {"path","name","type","size","mtime_ms"}; spec 2.6. */
void inbox_put_entry(struct str *out, const struct guest_entry *);

#endif
