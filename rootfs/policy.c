#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "rootfs/policy.h"

#define WHITEOUT ".wh."

int
policy_path(const char *raw, char out[PATH_MAX], struct err *err)
{
	size_t at = 0, depth = 0;

	if (raw[0] == '/')
		return err_set(err, ERR_DENIED, "absolute path %.120s", raw);
	for (const char *p = raw; *p != '\0';) {
		size_t n = strcspn(p, "/");
		bool dot = n == 1 && p[0] == '.';

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return err_set(err, ERR_DENIED, "\"..\" in path %.120s",
			    raw);
		if (n > NAME_MAX || at + n + 2 > PATH_MAX ||
		    (n > 0 && !dot && ++depth > POLICY_DEPTH))
			return err_set(err, ERR_LIMIT,
			    "path too long or too deep: %.100s", raw);
		if (n > 0 && !dot) {
			if (at > 0)
				out[at++] = '/';
			memcpy(out + at, p, n);
			at += n;
		}
		p += n;
		p += *p == '/';
	}
	out[at] = '\0';
	return 0;
}

int
policy_join(const char *parent, const char *name, char out[PATH_MAX],
    struct err *err)
{
	size_t n = strlen(parent), m = strlen(name);

	if (n + m + 2 > PATH_MAX)
		return err_set(err, ERR_LIMIT, "path too long: %.60s/%.60s",
		    parent, name);
	memmove(out, parent, n);
	if (n > 0 && m > 0)
		out[n++] = '/';
	memcpy(out + n, name, m + 1);
	return 0;
}

const char *
policy_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

char *
policy_above(const char *path)
{
	const char *base = policy_base(path);

	return base == path ? xstrdup("")
			    : xstrndup(path, (size_t)(base - path) - 1);
}

int
policy_name(const char *base, enum policy_name *kind, const char **hidden,
    struct err *err)
{
	size_t n = strlen(WHITEOUT);
	const char *rest = base + n;

	if (strncmp(base, WHITEOUT, n) != 0)
		*kind = NAME_PLAIN;
	else if (strcmp(rest, WHITEOUT ".opq") == 0)
		*kind = NAME_OPAQUE;
	else if (strncmp(rest, WHITEOUT, n) == 0)
		*kind = NAME_IGNORED;
	else if (rest[0] == '\0' || strcmp(rest, ".") == 0 ||
	    strcmp(rest, "..") == 0)
		return err_set(err, ERR_DENIED, "whiteout of nothing: %s",
		    base);
	else {
		*kind = NAME_WHITEOUT;
		*hidden = rest;
	}
	return 0;
}

/*
 * trusted.* and user.overlay.* would steer an overlay, security.* is the
 * host's business (and without gain inside, where no_new_privs holds), and
 * system.* are access lists, which the sandbox's ids make no sense of.
 */
/* clang-format off */
static const struct {
	const char	*prefix;
	bool		 take;
} xattrs[] = {
	{ "user.overlay.",	false },
	{ "user.",		true },
};
/* clang-format on */

bool
policy_xattr(const char *name)
{
	for (size_t i = 0; i < sizeof xattrs / sizeof *xattrs; i++)
		if (strncmp(name, xattrs[i].prefix, strlen(xattrs[i].prefix)) ==
		    0)
			return xattrs[i].take;
	return false;
}

int
policy_owner(const char *path, int64_t uid, int64_t gid, struct err *err)
{
	if (uid < 0 || uid > POLICY_ID_MAX || gid < 0 || gid > POLICY_ID_MAX)
		return err_set(err, ERR_DENIED,
		    "owner %lld:%lld of %.120s is outside 0..%d",
		    (long long)uid, (long long)gid, path, POLICY_ID_MAX);
	return 0;
}
