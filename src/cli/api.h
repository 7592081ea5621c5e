/*
 * api: the native HTTP interface, as its client sees it.
 *
 * One struct api is one daemon: its UNIX socket, or a URL with a token.  Knows
 * HTTP through libcurl, the shape of a failure, and what to advise when nobody
 * answers; not what a command means by its requests.
 *
 * The wire, all below /api/v1; JSON unless it says otherwise.  A failure is a
 * 4xx or 5xx with {"code": err_name(), "detail": "..."}.
 *
 *	GET    /info		{"version", "root", "generation", "uptime_ms",
 *				 "limits": ["memory", ...], "sandboxes": n}
 *	GET    /doctor		{"checks": [{"name", "ok", "detail"}, ...]}
 *	POST   /sandboxes	{"type", "image" | "dir": "#handle" (lend.h),
 *				 "net", "env": {}, "meta": {}, "mount_dir",
 *				 "lease": seconds in which an exec that removes
 *				 has to come, else it ends}
 *				201 and the record
 *	GET    /sandboxes	{"sandboxes": [record, ...]}
 *	GET    /sandboxes/ID	record: {"id", "image", "type", "state",
 *				 "paused", "session", "created_at",
 *				 "last_active_at", "reason", "meta"}
 *	DELETE /sandboxes/ID	204; 404 if there is none
 *	POST   /sandboxes/ID/pause, /resume, /stop, /start	204
 *	GET    /sandboxes/ID/stats	{"cpu_us", "memory", ... of broker_usage}
 *	GET    /sandboxes/ID/logs[?follow=1]	text: what befell it and each
 *				call's outcome, a line each, the newest last
 *	GET    /sandboxes/ID/exec	Upgrade: hutch-exec; then exec.h
 *	GET    /sandboxes/ID/files?path=P	the bytes of a file
 *	GET    /sandboxes/ID/files?path=P&list=1  {"entries": [{"path", "name",
 *				 "type": "file"|"dir"|"symlink"|"other", "size",
 *				 "mtime_ms"}]}; 400 if it is no directory
 *	PUT    /sandboxes/ID/files?path=P[&mode=755]	the bytes; 204
 *	PUT    /sandboxes/ID/files?path=P&dir=1	make it and its parents; 204
 *	GET    /images		{"images": [record of the store, ...]}
 *	GET    /images/NAME	one of them
 *	DELETE /images/NAME	204
 *	POST   /images?name=NAME	a tar (OCI layout or docker save); the
 *				answer is lines of JSON while it goes on:
 *				{"progress": "text"} ...
 *				then {"done": record} or {"code", "detail"}
 *	GET    /export?image=NAME	application/x-tar, the merged tree; a
 *				failure on the way cuts the connection
 *	GET    /agents		{"agents": [status, ...]}
 *	GET    /agents/NAME	{"name", "title", "state": "ready" ..., "url",
 *				 "runs", "workers": [...], "error", ...}
 *	PUT    /agents/NAME	application/x-hutch-agent: a line of JSON, the
 *				options (engine/spec.h), then a tar of the code;
 *				application/x-tar: the tar; application/json:
 *				options alone.  The answer is lines of JSON, as
 *				of an import; a failure has "log" besides
 *	POST   /agents/NAME/reload	the same answer: code and options as
 *				they are, in fresh processes
 *	DELETE /agents/NAME	204
 *	GET    /agents/NAME/logs[?follow=1]	text, the newest last
 *	GET    /agents/NAME/runs	{"runs": [{"id", "session_id", ...}]}
 *	POST   /agents/NAME/runs/ID/cancel	204
 *	POST   /agents/NAME/process	the agent's native door
 *	GET    /backup		the state's SQLite file, a consistent copy
 */
#ifndef CLI_API_H
#define CLI_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api;
struct err;
struct tunnel;

struct api_where {
	const char *socket; /* of the daemon; or */
	const char *url;    /* http(s)://host:port, with */
	const char *token;  /* NULL: none */
};

struct api *api_open(const struct api_where *);
void api_close(struct api *);

/*
 * path is below /api/v1/.  body is borrowed, NULL for none; *answer is yours,
 * NULL if it had none.  A status of 400 or more is an error in the daemon's own
 * words.
 */
int api_call(struct api *, const char *method, const char *path, json_t *body,
    json_t **answer, struct err *);

/* More of the body: bytes put into buf; 0 at its end, -1 and err gives up. */
typedef ssize_t api_read_fn(void *arg, void *buf, size_t n, struct err *);
/* A piece of the answer; -1 and err gives up. */
typedef int api_write_fn(void *arg, const void *, size_t n, struct err *);

struct api_stream {
	const char *method, *path;
	const char *type;  /* of the body; NULL: bytes */
	api_read_fn *read; /* NULL: no body */
	int64_t length;    /* of the body; -1: not known */
	api_write_fn *write;
	void *arg;
	bool idle; /* may be silent for ever; else five minutes end it */
	/* Asked each second and when bytes come: true gives up, ERR_BUSY. */
	bool (*stop)(void *arg);
};
int api_stream(struct api *, const struct api_stream *, struct err *);

/* One piece of a path or a query: percent-encoded, yours to free. */
char *api_quote(const char *);

/* A failure's status and body to err: for the tests. */
int api_failure(long status, const char *body, size_t n, struct err *);

/* ---- bytes both ways, after Upgrade ---- */

struct tunnel *api_tunnel(struct api *, const char *path, const char *protocol,
    struct err *);
void api_tunnel_free(struct tunnel *);
int api_tunnel_fd(const struct tunnel *); /* for poll */
/* Bytes taken or got; -1 and ERR_BUSY: not now; recv: 0 at the end. */
ssize_t api_send(struct tunnel *, const void *, size_t n, struct err *);
ssize_t api_recv(struct tunnel *, void *, size_t n, struct err *);

#endif
