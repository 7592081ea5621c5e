#include <jansson.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/escape.h"
#include "engine/event.h"
#include "engine/usage.h"
#include "json/jtext.h"

static json_t *
sum(const json_t *a, const json_t *b)
{
	json_int_t n;

	if (json_is_integer(a) && json_is_integer(b) &&
	    !__builtin_add_overflow(json_integer_value(a),
		json_integer_value(b), &n))
		return json_integer(n);
	if (json_is_number(a) && json_is_number(b))
		return json_real(json_number_value(a) + json_number_value(b));
	return json_incref((json_t *)(uintptr_t)b);
}

/* As deep as what a message may bring: jansson's own bound. */
static void
add(json_t *to, json_t *from)
{
	const char *key;
	json_t *v;

	json_object_foreach(from, key, v) {
		json_t *old = json_object_get(to, key);

		if (json_is_object(old) && json_is_object(v))
			add(old, v);
		else if (old == NULL || !json_is_null(v))
			json_object_set_new(to, key, sum(old, v));
	}
}

void
usage_sum(struct str *out, const struct message *const *m, size_t n)
{
	json_t *total = NULL, *one;
	size_t have = 0, last = 0;
	struct err err;

	for (size_t i = 0; i < n; i++)
		if (m[i]->usage.len > 0) {
			have++;
			last = i;
		}
	if (have == 0)
		return;
	if (have == 1) {
		str_add(out, m[last]->usage.at, m[last]->usage.len);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (m[i]->usage.len == 0)
			continue;
		one = jtext_read(m[i]->usage.at, m[i]->usage.len, NULL, &err);
		if (total == NULL)
			total = one;
		else {
			add(total, one);
			json_decref(one);
		}
	}
	if (json_is_object(total))
		escape_json(out, total);
	json_decref(total);
}
