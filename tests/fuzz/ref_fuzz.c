/* An image's name: what is taken for one can be no path, and means itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	auto_free char *name = xstrndup((const char *)bytes, n);
	auto_free char *again = NULL;
	struct ref ref;
	struct err err;

	if (ref_parse(name, &ref, &err) < 0)
		return 0;
	if (strstr(ref.repo, "..") != NULL || ref.repo[0] == '/' ||
	    strchr(ref.tag, '/') != NULL || ref.tag[0] == '.')
		abort();
	if (ref_match(&ref, name) != REF_SAME)
		abort();
	again = xasprintf("%s:%s", ref.repo, ref.tag);
	if (strlen(again) > REF_MAX || strncmp(again, "docker.io/", 10) == 0 ||
	    strncmp(again, "library/", 8) == 0)
		return 0; /* those are taken off once, and not again and again */
	if (ref_match(&ref, again) != REF_SAME)
		abort();
	return 0;
}
