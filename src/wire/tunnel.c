#include "base/err.h"
#include "wire/tunnel.h"

static void
put32(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 24);
	b[1] = (uint8_t)(v >> 16);
	b[2] = (uint8_t)(v >> 8);
	b[3] = (uint8_t)v;
}

static uint32_t
get32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	    (uint32_t)b[2] << 8 | b[3];
}

void
tunnel_reader_free(struct tunnel_reader *r)
{
	str_free(&r->buf);
	r->used = 0;
}

void
tunnel_feed(struct tunnel_reader *r, const void *bytes, size_t n)
{
	if (r->used > 0) {
		str_drop(&r->buf, r->used);
		r->used = 0;
	}
	str_add(&r->buf, bytes, n);
}

int
tunnel_next(struct tunnel_reader *r, struct tunnel_frame *f, struct err *err)
{
	size_t have = r->buf.len - r->used, len;
	const uint8_t *b;

	if (have < TUNNEL_HEAD)
		return 0;
	b = (const uint8_t *)r->buf.at + r->used;
	len = get32(b + 1);
	if (b[0] < TUNNEL_START || b[0] >= TUNNEL_TYPES)
		return err_set(err, ERR_PROTO, "no such frame: %d", b[0]);
	if (len > TUNNEL_MAX)
		return err_set(err, ERR_PROTO,
		    "frame of %zu bytes; at most %d are allowed", len,
		    TUNNEL_MAX);
	if (have < TUNNEL_HEAD + len)
		return 0;
	*f = (struct tunnel_frame){ b[0], b + TUNNEL_HEAD, len };
	r->used += TUNNEL_HEAD + len;
	return 1;
}

void
tunnel_head(uint8_t head[TUNNEL_HEAD], enum tunnel_type type, size_t n)
{
	head[0] = (uint8_t)type;
	put32(head + 1, (uint32_t)n);
}

void
tunnel_put(struct str *out, enum tunnel_type type, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	uint8_t head[TUNNEL_HEAD];

	do {
		size_t piece = n < TUNNEL_MAX ? n : TUNNEL_MAX;

		tunnel_head(head, type, piece);
		str_add(out, head, sizeof head);
		if (piece == 0)
			return;
		str_add(out, at, piece);
		at += piece;
		n -= piece;
	} while (n > 0);
}

void
tunnel_put_exit(struct str *out, int32_t status)
{
	uint8_t b[4];

	put32(b, (uint32_t)status);
	tunnel_put(out, TUNNEL_EXIT, b, sizeof b);
}

void
tunnel_put_size(struct str *out, unsigned rows, unsigned cols)
{
	uint8_t b[4];

	put32(b, (rows & 0xffff) << 16 | (cols & 0xffff));
	tunnel_put(out, TUNNEL_RESIZE, b, sizeof b);
}

int
tunnel_get_exit(const struct tunnel_frame *f, int32_t *status)
{
	if (f->n != 4)
		return -1;
	*status = (int32_t)get32(f->at);
	return 0;
}

int
tunnel_get_size(const struct tunnel_frame *f, unsigned *rows, unsigned *cols)
{
	uint32_t v;

	if (f->n != 4)
		return -1;
	v = get32(f->at);
	*rows = v >> 16;
	*cols = v & 0xffff;
	return 0;
}
