/*
 * Frames and what is in them, in whatever pieces they arrive.
 *
 * The first byte is how many bytes arrive at once, 0 for all.  What the reader
 * hands out is compared with a second reading of the whole stream, and each
 * frame is taken for what either side may be sent.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <protobuf-c/protobuf-c.h>
#include "base/err.h"
#include "base/own.h"
#include "guest.pb-c.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool so)
{
	if (!so)
		abort();
}

/* All of what is unpacked is read, by packing it again. */
static void
taken_for(const ProtobufCMessageDescriptor *kind, const uint8_t *at, size_t n)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(kind, NULL, n, at);
	auto_free uint8_t *again = NULL;
	size_t len;

	if (m == NULL)
		return;
	len = protobuf_c_message_get_packed_size(m);
	again = xmalloc(len + 1);
	must(protobuf_c_message_pack(m, again) == len);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* The stream as it should be read: 1 a frame, 0 no more yet, -1 broken. */
static int
expected(const uint8_t *bytes, size_t n, size_t *at, size_t *len)
{
	uint32_t be;

	if (n - *at < FRAME_HEAD)
		return 0;
	memcpy(&be, bytes + *at, sizeof be);
	*len = __builtin_bswap32(be);
	if (*len - 1 >= FRAME_MAX)
		return -1;
	if (n - *at - FRAME_HEAD < *len)
		return 0;
	*at += FRAME_HEAD;
	return 1;
}

/* All that can be read of the first `have` bytes; false: broken. */
static bool
read_all(struct frame_reader *r, const uint8_t *bytes, size_t have, size_t *at)
{
	for (;;) {
		struct err err = { 0 };
		size_t n = 0, len = 0;
		const uint8_t *frame = NULL;
		int got = frame_next(r, &frame, &n, &err);

		must(got == expected(bytes, have, at, &len));
		if (got <= 0) {
			must(got == 0 || err.code == ERR_PROTO);
			return got == 0;
		}
		must(n == len && memcmp(frame, bytes + *at, n) == 0);
		taken_for(&guest__event__descriptor, frame, n);
		taken_for(&guest__request__descriptor, frame, n);
		*at += n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct frame_reader r = { 0 };
	size_t step, at = 0, have = 0;
	bool good = true;

	if (n == 0)
		return 0;
	step = bytes[0] != 0 ? bytes[0] : n;
	bytes++;
	n--;
	while (good && have < n) {
		size_t piece = n - have < step ? n - have : step;

		frame_feed(&r, bytes + have, piece);
		have += piece;
		good = read_all(&r, bytes, have, &at);
		must(r.buf.len <= FRAME_MAX + FRAME_HEAD + piece);
	}
	frame_reader_free(&r);
	return 0;
}
