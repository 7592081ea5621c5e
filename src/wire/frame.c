#include "base/err.h"
#include "wire/frame.h"

void
frame_reader_free(struct frame_reader *r)
{
	str_free(&r->buf);
	r->used = 0;
}

void
frame_feed(struct frame_reader *r, const void *bytes, size_t n)
{
	if (r->used > 0) {
		str_drop(&r->buf, r->used);
		r->used = 0;
	}
	str_add(&r->buf, bytes, n);
}

int
frame_next(struct frame_reader *r, const uint8_t **at, size_t *n,
    struct err *err)
{
	size_t have = r->buf.len - r->used, len;
	const uint8_t *b;

	if (have < FRAME_HEAD)
		return 0;
	b = (const uint8_t *)r->buf.at + r->used;
	len =
	    (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
	if (len == 0 || len > FRAME_MAX)
		return err_set(err, ERR_PROTO,
		    "frame of %zu bytes; 1 to %d are allowed", len, FRAME_MAX);
	if (have < FRAME_HEAD + len)
		return 0;
	*at = b + FRAME_HEAD;
	*n = len;
	r->used += FRAME_HEAD + len;
	return 1;
}

void
frame_head(uint8_t head[FRAME_HEAD], size_t n)
{
	head[0] = (uint8_t)(n >> 24);
	head[1] = (uint8_t)(n >> 16);
	head[2] = (uint8_t)(n >> 8);
	head[3] = (uint8_t)n;
}
