#include <string.h>
#include "tests/unit/unit.h"
#include "base/sha256.h"
#include "base/str.h"

/* FIPS 180-4's own examples, and the lengths around a block's end. */
static void
gives_the_published_digests(void **unused)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "",
		    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b78"
		    "52b855" },
		{ "abc",
		    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
		    "0015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419"
		    "db06c1" },
	};
	uint8_t digest[SHA256_BYTES], want[SHA256_BYTES];

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sha256(digest, cases[i].text, strlen(cases[i].text));
		assert_int_equal(hex_get(want, sizeof want, cases[i].hex), 0);
		assert_memory_equal(digest, want, sizeof want);
	}
}

static void
hashes_a_million_letters(void **unused)
{
	static char text[1000000];
	uint8_t digest[SHA256_BYTES], want[SHA256_BYTES];

	(void)unused;
	memset(text, 'a', sizeof text);
	sha256(digest, text, sizeof text);
	assert_int_equal(hex_get(want, sizeof want,
			     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e0"
			     "46d39ccc7112"
			     "cd0"),
	    0);
	assert_memory_equal(digest, want, sizeof want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_published_digests),
		cmocka_unit_test(hashes_a_million_letters),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
