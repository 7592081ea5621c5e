/*
 * tunnel: the frames on an upgraded connection, "Upgrade: hutch-exec".
 *
 * What `hutch exec` and the front say to each other after 101.  A frame is one
 * byte of type, four bytes of length (big-endian), then that many bytes, at
 * most TUNNEL_MAX.  Bytes only: no I/O, and no JSON here.
 *
 *	client                          front
 *	START  {"argv":["sh","-c","…"],  first and once; everything but argv is
 *	        "env":["A=b"],           optional.  env is added to the
 *	        "cwd":"/workspace",      sandbox's own
 *	        "tty":true,
 *	        "rows":24,"cols":80}
 *	STDIN  bytes; empty: end         STDOUT, STDERR  bytes (a terminal's
 *	RESIZE rows, cols: 2 bytes each                  output is all STDOUT)
 *	KILL   empty                     EXIT   4 bytes, signed, then close:
 *	                                        status, or minus the signal
 *	                                 ERROR  text: why it did not start, or
 *	                                        why there is no status; close
 *
 * A client that leaves before EXIT ends the command, as a hang-up would.
 */
#ifndef WIRE_TUNNEL_H
#define WIRE_TUNNEL_H

#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct err;

#define TUNNEL_PROTOCOL "hutch-exec"
#define TUNNEL_HEAD 5
#define TUNNEL_MAX 65536

enum tunnel_type {
	TUNNEL_START = 1,
	TUNNEL_STDIN,
	TUNNEL_STDOUT,
	TUNNEL_STDERR,
	TUNNEL_RESIZE,
	TUNNEL_KILL,
	TUNNEL_EXIT,
	TUNNEL_ERROR,
	TUNNEL_TYPES
};

struct tunnel_frame {
	enum tunnel_type type;
	const uint8_t *at; /* valid until the next call on the reader */
	size_t n;
};

struct tunnel_reader {
	struct str buf; /* at most one frame and one feed */
	size_t used;
};

void tunnel_reader_free(struct tunnel_reader *);
void tunnel_feed(struct tunnel_reader *, const void *, size_t);
/* 1: a frame; 0: need more; -1: not this protocol */
int tunnel_next(struct tunnel_reader *, struct tunnel_frame *, struct err *);
void tunnel_head(uint8_t head[TUNNEL_HEAD], enum tunnel_type, size_t n);
/* Whole frames of any n, as many as it takes, added to out. */
void tunnel_put(struct str *out, enum tunnel_type, const void *, size_t n);

/* Numbers inside frames, big-endian. */
void tunnel_put_exit(struct str *out, int32_t status);
void tunnel_put_size(struct str *out, unsigned rows, unsigned cols);
int tunnel_get_exit(const struct tunnel_frame *, int32_t *status);
int tunnel_get_size(const struct tunnel_frame *, unsigned *rows,
    unsigned *cols);

#endif
