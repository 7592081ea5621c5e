/* A session's history, as agents of ours read and write it. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/services_int.h"
#include "json/jtext.h"
#include "store/history.h"

static struct service_key
key_of(const struct services *s, const struct service_whose *w)
{
	return (struct service_key){ services_tenant(s, w->tenant), w->agent,
		w->user, w->session };
}

static void
one(void *arg, const char *body)
{
	json_t *v = json_loads(body, JSON_ALLOW_NUL, NULL);

	if (v != NULL)
		json_array_append_new(arg, v);
}

int
services_history_get(struct services *s, const struct service_whose *w,
    unsigned most, json_t *array, struct err *err)
{
	const struct service_key key = key_of(s, w);

	return history_list(s->history, &key, most, one, array, err);
}

/* The same bound as for what an agent's own code keeps. */
static int
check_room(struct services *s, const char *tenant, size_t n, struct err *err)
{
	int64_t have = service_bytes(s->sums, tenant, err);

	if (have < 0)
		return -1;
	if ((uint64_t)have + n > s->conf.config->services_max)
		return err_set(err, ERR_LIMIT,
		    "the tenant keeps %lld bytes, services_max is %llu",
		    (long long)have,
		    (unsigned long long)s->conf.config->services_max);
	return 0;
}

int
services_history_add(struct services *s, const struct service_whose *w,
    const json_t *array, struct err *err)
{
	const struct service_key key = key_of(s, w);
	size_t n = json_array_size(array);
	auto_free const char **body = xcalloc(n + 1, sizeof *body);
	size_t bytes = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		struct str text = { 0 };

		jtext_write(&text, json_array_get(array, i));
		bytes += text.len;
		body[i] = str_take(&text);
	}
	r = check_room(s, key.tenant, bytes, err);
	if (r == 0)
		r = history_append(s->history, &key, body, n,
		    s->conf.config->history_max, clock_unix(), err);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)body[i]);
	return r;
}
