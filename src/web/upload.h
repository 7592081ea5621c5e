/*
 * upload: a body that goes into a file of a sandbox while it comes in.
 *
 * Bytes are handed to the running call as it has room for them; what it has no
 * room for waits here, at most one piece, and the client is held up meanwhile.
 */
#ifndef WEB_UPLOAD_H
#define WEB_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct guest_call;
struct http_req;

struct upload {
	struct http_req *q;
	struct guest_call *call; /* NULL: not yet, or over */
	struct str wait;
	bool paused;
	bool end; /* no more will come after what waits */
};

/* The call is there; call again for each file. */
void upload_into(struct upload *, struct guest_call *);
void upload_bytes(struct upload *, const uint8_t *, size_t);
void upload_end(struct upload *);
/* For guest_sink.room. */
void upload_room(struct upload *);
/* The call is over: what waits has nowhere to go. */
void upload_over(struct upload *);
void upload_free(struct upload *);

#endif
