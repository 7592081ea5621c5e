/*
 * A content type, a line end, and a body.  The first byte says into what pieces
 * it is cut; the parts must be the same.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "web/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct sum {
	uint64_t hash;
	size_t bytes;
	unsigned begun, ended;
	int result;
};

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
add(struct sum *sum, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		sum->hash = (sum->hash ^ b[i]) * 0x100000001b3;
}

static int
on_begin(void *arg, const struct multipart_part *part, struct err *err)
{
	struct sum *sum = arg;

	(void)err;
	must(sum->begun++ == sum->ended);
	add(sum, part->name, strlen(part->name) + 1);
	if (part->filename != NULL)
		add(sum, part->filename, strlen(part->filename) + 1);
	if (part->type != NULL)
		add(sum, part->type, strlen(part->type) + 1);
	return 0;
}

static int
on_data(void *arg, const uint8_t *bytes, size_t n, struct err *err)
{
	struct sum *sum = arg;

	(void)err;
	must(n > 0 && sum->begun == sum->ended + 1);
	add(sum, bytes, n);
	sum->bytes += n;
	return 0;
}

static int
on_end(void *arg, struct err *err)
{
	struct sum *sum = arg;

	(void)err;
	must(++sum->ended == sum->begun);
	add(sum, "end", 3);
	return 0;
}

static struct sum
run(const char *type, const uint8_t *bytes, size_t n, size_t piece)
{
	static const struct multipart_calls calls = { on_begin, on_data,
		on_end };
	struct sum sum = { 0 };
	struct multipart m;
	struct err err;

	sum.result = multipart_init(&m, type, &calls, &sum, &err);
	if (sum.result < 0)
		return sum;
	for (size_t at = 0; at < n && sum.result == 0; at += piece)
		sum.result = multipart_feed(&m, bytes + at,
		    n - at < piece ? n - at : piece, &err);
	if (sum.result == 0)
		sum.result = multipart_finish(&m, &err);
	if (sum.result == 0)
		must(sum.begun == sum.ended);
	must(sum.bytes <= n);
	multipart_free(&m);
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *lf;
	char *type;
	struct sum whole, cut;

	if (n < 1 || (lf = memchr(bytes + 1, '\n', n - 1)) == NULL)
		return 0;
	type = xstrndup((const char *)bytes + 1, (size_t)(lf - bytes) - 1);
	n -= (size_t)(lf + 1 - bytes);
	whole = run(type, lf + 1, n, n + 1);
	cut = run(type, lf + 1, n, 1 + bytes[0] % 64);
	must(whole.hash == cut.hash && whole.result == cut.result &&
	    whole.ended == cut.ended && whole.bytes == cut.bytes);
	free(type);
	return 0;
}
