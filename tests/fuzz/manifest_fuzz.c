/* The JSON documents of an image; the first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "rootfs/manifest.h"
#include "rootfs/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
index_(const char *text, size_t n)
{
	struct index x = { 0 };
	struct err err;

	if (manifest_index(text, n, &x, &err) == 0)
		index_free(&x);
}

static void
manifest(const char *text, size_t n)
{
	static struct manifest m;
	struct err err;

	if (manifest_read(text, n, &m, &err) == 0 && m.n > MANIFEST_LAYERS)
		abort();
}

static void
kind(const char *text, size_t n)
{
	enum media media;
	struct err err;

	(void)!manifest_kind(text, n, "", &media, &err);
}

static void
config(const char *text, size_t n)
{
	static struct image_config c;
	static struct record r = { .name = "x", .config = &c };
	struct err err;

	if (manifest_config(text, n, &c, &err) < 0)
		return;
	r.n = c.n;
	free(record_text(&r, &err));
	image_config_free(&c);
}

static void
saved(const char *text, size_t n)
{
	struct saved s = { 0 };
	struct err err;

	if (manifest_saved(text, n, "some/name:tag", &s, &err) == 0)
		saved_free(&s);
}

static void
layout(const char *text, size_t n)
{
	struct err err;

	(void)!manifest_layout(text, n, &err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static void (*const read[])(const char *, size_t) = { index_, manifest,
		kind, config, saved, layout };
	size_t which = sizeof read / sizeof *read;

	if (n == 0)
		return 0;
	read[bytes[0] % which]((const char *)bytes + 1, n - 1);
	return 0;
}
