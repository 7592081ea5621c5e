/*
 * frame: length-prefixed frames on a byte stream.
 *
 * A frame is a 4-byte big-endian length, then that many bytes, at most
 * FRAME_MAX.  Bytes only: no protobuf here, and no I/O.  The reader is fed
 * whatever arrived and hands out whole frames; a length of 0 or above the
 * bound is a broken peer, at once, before anything is stored.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct err;

#define FRAME_MAX (256 * 1024)
#define FRAME_HEAD 4

struct frame_reader {
	struct str buf; /* at most FRAME_MAX + FRAME_HEAD + one feed */
	size_t used;    /* bytes already handed out */
};

void frame_reader_free(struct frame_reader *);
void frame_feed(struct frame_reader *, const void *bytes, size_t n);
/* 1: *at, *n is a frame, valid until the next call; 0: need more; -1: broken */
int frame_next(struct frame_reader *, const uint8_t **at, size_t *n,
    struct err *);
/* The head of a frame of n bytes, 0 < n <= FRAME_MAX. */
void frame_head(uint8_t head[FRAME_HEAD], size_t n);

#endif
