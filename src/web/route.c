#include <stdbool.h>
#include <string.h>
#include "base/err.h"
#include "web/route.h"

static bool
bind(struct route_names *names, const char *name, size_t name_len,
    const char *value, const char *end)
{
	if (names->n == ROUTE_NAMES)
		return false;
	names->at[names->n].name = name;
	names->at[names->n].name_len = name_len;
	names->at[names->n].value = value;
	names->at[names->n++].value_len = (size_t)(end - value);
	return true;
}

/* end: without one trailing slash, which only "*rest" gets to see. */
static bool
matches(const char *pattern, const char *path, const char *end,
    struct route_names *names)
{
	names->n = 0;
	while (*pattern == '/') {
		size_t want = strcspn(++pattern, "/");
		const char *next;

		if (*pattern == '*') {
			path += *path == '/';
			return bind(names, pattern + 1, want - 1, path,
			    path + strlen(path));
		}
		if (path == end || *path++ != '/')
			return false;
		next = memchr(path, '/', (size_t)(end - path));
		if (next == NULL)
			next = end;
		if (*pattern == ':') {
			if (next == path ||
			    !bind(names, pattern + 1, want - 1, path, next))
				return false;
		} else if (want != (size_t)(next - path) ||
		    memcmp(pattern, path, want) != 0)
			return false;
		pattern += want;
		path = next;
	}
	return path == end;
}

const struct route *
route_find(const struct route *routes, size_t n, enum http_method method,
    const char *path, struct route_names *names, unsigned *allow,
    struct err *err)
{
	const char *end = path + strlen(path);
	unsigned has = 0;

	if (end > path + 1 && end[-1] == '/')
		end--;
	for (size_t i = 0; i < n; i++) {
		if (!matches(routes[i].path, path, end, names))
			continue;
		if (routes[i].methods & 1u << method)
			return &routes[i];
		has |= routes[i].methods;
	}
	if (has == 0) {
		err_set(err, ERR_MISSING, "Not Found");
		return NULL;
	}
	*allow = has;
	err_set(err, ERR_DENIED, "Method Not Allowed");
	return NULL;
}
