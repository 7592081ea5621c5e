/*
 * exec: a command in a sandbox, with our terminal or pipes at its ends.
 *
 * With a terminal: raw mode while it runs, and every resize is passed on.
 * Without: an interrupt ends the command, a second one ends us.
 *
 * The tunnel carries frames (wire/frame.h); the first byte of each says what
 * it is, the rest is its content:
 *
 *	us	'S' JSON, first: {"argv": [...], "env": {}, "cwd": "",
 *		    "tty": bool, "rows": n, "cols": n,
 *		    "remove": bool: the sandbox goes when this exec ends or
 *		    its connection does}
 *		'I' bytes for its stdin; an empty one ends it
 *		'R' JSON {"rows": n, "cols": n}
 *		'K' end the work
 *	daemon	'O' stdout (with a terminal: all of it), 'E' stderr
 *		'X' JSON, last: {"exit": status or -signal} or
 *		    {"code", "detail"}
 *
 * Back pressure is the connection's own.
 */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include <stdbool.h>

struct api;
struct err;

struct exec {
	const char *id; /* of the sandbox */
	char *const *argv;
	char *const *env; /* NAME=value, NULL-ended; may be NULL */
	const char *cwd;  /* NULL: the sandbox's */
	bool tty;
	const char *term; /* of ours, for a terminal there; may be NULL */
	bool input;       /* give it our standard input */
	bool remove;      /* the sandbox ends with it */
};

/* *status: 0..255 as a shell would say it (128 + signal). */
int exec_run(struct api *, const struct exec *, int *status, struct err *);

#endif
