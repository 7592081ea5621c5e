#include <string.h>
#include "base/err.h"
#include "rootfs/ref.h"

#define ALNUM                                                                  \
	"abcdefghijklmnopqrstuvwxyz"                                           \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                           \
	"0123456789"

static bool
alnum(char c)
{
	return c != '\0' && strchr(ALNUM, c) != NULL;
}

/* Letters and digits, with ".", "_" and "-" between them. */
static bool
component(const char *at, size_t n)
{
	char was = '.';

	if (n == 0 || !alnum(at[0]) || !alnum(at[n - 1]))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!alnum(at[i]) && strchr("._-", at[i]) == NULL)
			return false;
		if (at[i] == '.' && was == '.')
			return false;
		was = at[i];
	}
	return true;
}

/* The first component may be a host with a port. */
static bool
host(const char *at, size_t n)
{
	const char *colon = memchr(at, ':', n);
	size_t digits;

	if (colon == NULL)
		return component(at, n);
	digits = n - (size_t)(colon - at) - 1;
	return component(at, (size_t)(colon - at)) && digits > 0 &&
	    digits <= 5 && strspn(colon + 1, "0123456789") == digits;
}

static bool
repo(const char *at, size_t n)
{
	const char *end = at + n;
	bool first = true;

	for (;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash != NULL ? slash : end) - at);

		if (first && slash != NULL ? !host(at, len)
					   : !component(at, len))
			return false;
		if (slash == NULL)
			return true;
		at = slash + 1;
		first = false;
	}
}

static bool
tag(const char *at)
{
	size_t n = strlen(at);

	return n > 0 && n <= REF_TAG_MAX && strspn(at, ALNUM "._-") == n &&
	    at[0] != '.' && at[0] != '-';
}

static const char *
without(const char *at, size_t *n, const char *prefix)
{
	size_t m = strlen(prefix);

	if (*n <= m || strncmp(at, prefix, m) != 0)
		return at;
	*n -= m;
	return at + m;
}

int
ref_parse(const char *name, struct ref *ref, struct err *err)
{
	const char *slash = strrchr(name, '/');
	const char *colon = strchr(slash != NULL ? slash : name, ':');
	size_t n = colon != NULL ? (size_t)(colon - name) : strlen(name);

	if (strlen(name) > REF_MAX || !repo(name, n) ||
	    (colon != NULL && !tag(colon + 1)))
		return err_set(err, ERR_INVALID,
		    "\"%.100s\" is no image name (NAME or NAME:TAG)", name);
	name = without(name, &n, "docker.io/");
	name = without(name, &n, "library/");
	*ref = (struct ref){ .tag = "latest" };
	memcpy(ref->repo, name, n);
	if (colon != NULL)
		strcpy(ref->tag, colon + 1);
	return 0;
}

enum ref_match
ref_match(const struct ref *ref, const char *called)
{
	struct ref other;
	struct err err;

	if (called == NULL)
		return REF_OTHER;
	if (ref_parse(called, &other, &err) == 0 &&
	    strcmp(ref->repo, other.repo) == 0 &&
	    strcmp(ref->tag, other.tag) == 0)
		return REF_SAME;
	return strcmp(ref->tag, called) == 0 ? REF_TAG : REF_OTHER;
}
