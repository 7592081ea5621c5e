#include <string.h>
#include "agent/tool.h"
#include "base/err.h"

const struct arg *
arg_find(const struct args *args, const char *name)
{
	for (size_t i = 0; i < args->n; i++)
		if (strcmp(args->at[i].name, name) == 0)
			return &args->at[i];
	return NULL;
}

static int
check_one(const struct param *p, const struct arg *a, struct err *err)
{
	static const char *const what[] = { [ARG_TEXT] = "text",
		[ARG_INT] = "a whole number",
		[ARG_BOOL] = "true or false",
		[ARG_LIST] = "a list of text" };
	static const char *const unit[] = { [ARG_TEXT] = " bytes",
		[ARG_INT] = "",
		[ARG_BOOL] = "",
		[ARG_LIST] = " items" };
	int64_t size = a->type == ARG_TEXT ? (int64_t)a->len
	    : a->type == ARG_LIST          ? (int64_t)a->nitem
					   : a->num;

	if (a->type != p->type)
		return err_set(err, ERR_INVALID, "%s must be %s", p->name,
		    what[p->type]);
	if (p->type == ARG_TEXT && size == 0 && p->min > 0)
		return err_set(err, ERR_INVALID, "%s is required", p->name);
	if (p->type != ARG_BOOL && (size < p->min || size > p->max))
		return err_set(err, ERR_LIMIT,
		    "%s: %lld%s; %lld to %lld are allowed", p->name,
		    (long long)size, unit[p->type], (long long)p->min,
		    (long long)p->max);
	return 0;
}

int
tool_check(const struct tool *t, const struct args *args, struct err *err)
{
	size_t known = 0;

	for (const struct param *p = t->params; p->name != NULL; p++) {
		const struct arg *a = arg_find(args, p->name);

		if (a == NULL && p->optional)
			continue;
		if (a == NULL)
			return err_set(err, ERR_INVALID, "%s is required",
			    p->name);
		if (check_one(p, a, err) < 0)
			return -1;
		known++;
	}
	for (size_t i = 0; known != args->n && i < args->n; i++) {
		const struct param *p = t->params;

		while (
		    p->name != NULL && strcmp(p->name, args->at[i].name) != 0)
			p++;
		if (p->name == NULL)
			return err_set(err, ERR_INVALID,
			    "%s: unknown argument %s", t->name,
			    args->at[i].name);
	}
	return 0;
}

int64_t
arg_num(const struct args *args, const char *name, int64_t otherwise)
{
	const struct arg *a = arg_find(args, name);

	return a != NULL ? a->num : otherwise;
}

int
arg_text(const struct args *args, const char *name, const char **out,
    struct err *err)
{
	const struct arg *a = arg_find(args, name);

	if (a != NULL && memchr(a->text, '\0', a->len) != NULL)
		return err_set(err, ERR_INVALID,
		    "%s has a NUL byte at %zu; it can't", name,
		    (size_t)((const char *)memchr(a->text, '\0', a->len) -
			a->text));
	*out = a != NULL ? a->text : NULL;
	return 0;
}
