#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/manifest.h"

#define D64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OCI "application/vnd.oci.image."
#define CONFIG                                                                 \
	"\"config\":{\"mediaType\":\"" OCI "config.v1+json\","                 \
	"\"digest\":\"sha256:" D64 "\",\"size\":2}"
#define LAYER                                                                  \
	"{\"mediaType\":\"" OCI "layer.v1.tar+gzip\","                         \
	"\"digest\":\"sha256:" D64 "\",\"size\":3}"

static int
read_text(const char *text, struct manifest *m, struct err *err)
{
	return manifest_read(text, strlen(text), m, err);
}

static void
a_manifest_is_read(void **unused)
{
	struct manifest m;
	struct err err;

	(void)unused;
	assert_int_equal(read_text("{" CONFIG ",\"layers\":[" LAYER "," LAYER
				   "]}",
			     &m, &err),
	    0);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.layer[1].size, 3);
	assert_int_equal(m.layer[1].digest[1], 0x23);
	assert_int_equal(m.config.media, MEDIA_CONFIG);
}

static void
what_is_odd_in_it_is_refused(void **unused)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{" CONFIG "}",
		"{" CONFIG ",\"layers\":[]}",
		"{" CONFIG ",\"layers\":{}}",
		"{" CONFIG ",\"layers\":[" LAYER "],\"layers\":[]}",
		"{" CONFIG ",\"layers\":[" LAYER "]} x",
		"{" CONFIG ",\"layers\":[1]}",
		"{" CONFIG ",\"layers\":[{\"digest\":\"sha256:" D64
		"\",\"size\":1}]}",
		"{" CONFIG ",\"layers\":[{\"mediaType\":\"" OCI
		"layer.v1.tar\",\"digest\":\"sha256:" D64 "\"}]}",
		"{" CONFIG ",\"layers\":[{\"mediaType\":\"" OCI
		"layer.v1.tar\",\"digest\":\"sha256:" D64 "\",\"size\":-1}]}",
		"{" CONFIG ",\"layers\":[{\"mediaType\":\"" OCI
		"layer.v1.tar\",\"digest\":\"sha256:" D64 "\",\"size\":1.5}]}",
		"{\"config\":" LAYER ",\"layers\":[" LAYER "]}",
	};
	struct manifest m;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(read_text(bad[i], &m, &err), -1);
}

static void
layers_are_counted(void **unused)
{
	for (int n = MANIFEST_LAYERS; n <= 10000;
	     n += 10000 - MANIFEST_LAYERS) {
		auto_free struct manifest *m = xcalloc(1, sizeof *m);
		auto_str struct str text = { 0 };
		struct err err;

		(void)unused;
		str_puts(&text, "{" CONFIG ",\"layers\":[" LAYER);
		for (int i = 1; i < n; i++)
			str_puts(&text, "," LAYER);
		str_puts(&text, "]}");
		assert_int_equal(read_text(text.at, m, &err),
		    n == MANIFEST_LAYERS ? 0 : -1);
	}
}

static void
digests_are_exact(void **unused)
{
	static const char *const bad[] = { "", "sha256:", "sha256:abcd",
		"sha512:" D64, D64, "sha256:" D64 "0", "SHA256:" D64,
		"sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456"
		"789abcdef",
		"sha256:../../../../etc/passwd" };
	uint8_t digest[MANIFEST_DIGEST];
	struct err err;

	(void)unused;
	assert_int_equal(manifest_digest("sha256:" D64, digest, &err), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(manifest_digest(bad[i], digest, &err), -1);
}

static int
kind(const char *text, const char *said, enum media *media)
{
	struct err err;

	return manifest_kind(text, strlen(text), said, media, &err);
}

static void
a_document_is_one_thing(void **unused)
{
	static const char manifest[] =
	    "{\"schemaVersion\":2," CONFIG ",\"layers\":[]}";
	static const char index[] = "{\"schemaVersion\":2,\"manifests\":[]}";
	enum media media;

	(void)unused;
	assert_int_equal(kind(manifest, "", &media), 0);
	assert_int_equal(media, MEDIA_MANIFEST);
	assert_int_equal(kind(index, OCI "index.v1+json", &media), 0);
	assert_int_equal(media, MEDIA_INDEX);
	assert_int_equal(kind(index, OCI "manifest.v1+json", &media), -1);
	assert_int_equal(kind(manifest, "text/plain", &media), -1);
	assert_int_equal(kind("{\"schemaVersion\":2,\"manifests\":[]," CONFIG
			      "}",
			     "", &media),
	    -1);
	assert_int_equal(kind("{\"schemaVersion\":1,\"manifests\":[]}", "",
			     &media),
	    -1);
	assert_int_equal(kind("{\"schemaVersion\":2,\"mediaType\":\"" OCI
			      "manifest.v1+json\",\"manifests\":[]}",
			     "", &media),
	    -1);
}

static void
an_index_names_platforms_and_images(void **unused)
{
	static const char text[] =
	    "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"sha256:" D64
	    "\",\"size\":9,\"platform\":{\"os\":\"linux\","
	    "\"architecture\":\"arm64\"},\"annotations\":{"
	    "\"org.opencontainers.image.ref.name\":\"v1\"}}]}";
	struct index x = { 0 };
	struct err err;

	(void)unused;
	assert_int_equal(manifest_index(text, strlen(text), &x, &err), 0);
	assert_int_equal(x.n, 1);
	assert_true(x.at[0].has_platform);
	assert_string_equal(x.at[0].arch, "arm64");
	assert_string_equal(x.at[0].called[1], "v1");
	assert_int_equal(x.at[0].media, MEDIA_NONE);
	index_free(&x);
	assert_int_equal(manifest_index(text, strlen(text) - 2, &x, &err), -1);
}

static int
config(const char *os, const char *arch, const char *diff, struct err *err)
{
	auto_free char *text =
	    xasprintf("{\"os\":\"%s\",\"architecture\":\"%s\",\"rootfs\":{"
		      "\"diff_ids\":[%s]}}",
		os, arch, diff);
	struct image_config c = { 0 };
	int r = manifest_config(text, strlen(text), &c, err);

	image_config_free(&c);
	return r;
}

static void
a_config_is_for_this_host(void **unused)
{
	const char *us = manifest_arch();
	struct err err;

	(void)unused;
	assert_int_equal(config("linux", us, "\"sha256:" D64 "\"", &err), 0);
	assert_int_equal(config("windows", us, "\"sha256:" D64 "\"", &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
	assert_int_equal(config("linux", "vax", "\"sha256:" D64 "\"", &err),
	    -1);
	assert_int_equal(config("linux", us, "", &err), -1);
	assert_int_equal(config("linux", us, "1", &err), -1);
}

static int
saved(const char *text, const char *name, struct saved *s, struct err *err)
{
	return manifest_saved(text, strlen(text), name, s, err);
}

static void
a_saved_image_is_found_by_name(void **unused)
{
	static const char two[] =
	    "[{\"Config\":\"a\",\"RepoTags\":[\"x:1\"],\"Layers\":[\"l\"]},"
	    "{\"Config\":\"b\",\"RepoTags\":[\"docker.io/y/z:2\"],"
	    "\"Layers\":[\"m\",\"n\"]}]";
	struct saved s = { 0 };
	struct err err;

	(void)unused;
	assert_int_equal(saved(two, "y/z:2", &s, &err), 0);
	assert_string_equal(s.config, "b");
	assert_int_equal(s.n, 2);
	saved_free(&s);
	assert_int_equal(saved(two, "other", &s, &err), -1);
	assert_int_equal(saved("[]", "x", &s, &err), -1);
	assert_int_equal(saved("{}", "x", &s, &err), -1);
	assert_int_equal(saved("[1]", "x", &s, &err), -1);
	assert_int_equal(saved("[{\"Config\":\"a\",\"Layers\":[1]}]", "x", &s,
			     &err),
	    0);
	saved_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_is_read),
		cmocka_unit_test(what_is_odd_in_it_is_refused),
		cmocka_unit_test(layers_are_counted),
		cmocka_unit_test(digests_are_exact),
		cmocka_unit_test(a_document_is_one_thing),
		cmocka_unit_test(an_index_names_platforms_and_images),
		cmocka_unit_test(a_config_is_for_this_host),
		cmocka_unit_test(a_saved_image_is_found_by_name),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
