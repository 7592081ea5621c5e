/*
 * What a line says, said to its run: line_apply() of line.h.
 */
#include <stdbool.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/line.h"
#include "engine/run.h"
#include "json/jtext.h"

static int
bad(struct err *err, const char *member, const char *want)
{
	return err_set(err, ERR_PROTO, "%s: not %s", member, want);
}

/* A string or NULL, also where it is null.  -1: something else. */
static int
get_text(const json_t *o, const char *name, const char **out, size_t *n,
    struct err *err)
{
	const json_t *v = json_object_get(o, name);

	*out = NULL;
	*n = 0;
	if (v == NULL || json_is_null(v))
		return 0;
	if ((*out = jtext_string(v, n)) == NULL)
		return bad(err, name, "a string");
	return 0;
}

/* The same as a C string. */
static int
get_word(const json_t *o, const char *name, const char **out, struct err *err)
{
	size_t n;

	if (get_text(o, name, out, &n, err) < 0)
		return -1;
	if (*out != NULL && strlen(*out) != n)
		return bad(err, name, "a name");
	return 0;
}

/* Escaped text of it in store. */
static int
get_escaped(const json_t *o, const char *name, struct str *store,
    struct slice *out, struct err *err)
{
	const char *text;
	size_t n;

	*out = (struct slice){ NULL, 0 };
	if (get_text(o, name, &text, &n, err) < 0)
		return -1;
	if (text == NULL)
		return 0;
	escape_text(store, text, n);
	*out = (struct slice){ str_text(store), store->len };
	return 0;
}

static int
get_object(const json_t *o, const char *name, struct str *store,
    struct slice *out, struct err *err)
{
	const json_t *v = json_object_get(o, name);

	*out = (struct slice){ NULL, 0 };
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_object(v))
		return bad(err, name, "an object");
	escape_json(store, v);
	*out = (struct slice){ store->at, store->len };
	return 0;
}

static int
get_label(const json_t *o, const char *name, struct slice *out, struct err *err)
{
	if (get_text(o, name, &out->at, &out->len, err) < 0)
		return -1;
	if (out->len > LINE_LABEL_MAX)
		return bad(err, name, "short enough");
	return 0;
}

/* Types and roles are printed as they are. */
static int
get_name(const json_t *o, const char *name, size_t most, const char **out,
    struct err *err)
{
	if (get_word(o, name, out, err) < 0)
		return -1;
	if (*out == NULL)
		return 0;
	if (**out == '\0' || strlen(*out) > most ||
	    (*out)[strspn(*out,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_.-")] != '\0')
		return bad(err, name, "a name");
	return 0;
}

static int
get_status(const json_t *o, enum run_status *out, struct err *err)
{
	const char *name;
	int s;

	if (get_word(o, "status", &name, err) < 0)
		return -1;
	if (name == NULL)
		return 0;
	if ((s = run_status_parse(name)) < 0)
		return bad(err, "status", "a status");
	*out = (enum run_status)s;
	return 0;
}

/* ---- lines ---- */

static int
apply_message(const json_t *o, struct run *run, struct err *err)
{
	auto_str struct str usage = { 0 }, meta = { 0 }, code = { 0 },
			    text = { 0 };
	struct run_message say = { .status = RUN_IN_PROGRESS };

	if (get_label(o, "id", &say.label, err) < 0 ||
	    get_name(o, "type", sizeof((struct message *)0)->type - 1,
		&say.type, err) < 0 ||
	    get_name(o, "role", sizeof((struct message *)0)->role - 1,
		&say.role, err) < 0 ||
	    get_status(o, &say.status, err) < 0 ||
	    get_object(o, "usage", &usage, &say.usage, err) < 0 ||
	    get_object(o, "metadata", &meta, &say.metadata, err) < 0 ||
	    get_escaped(o, "code", &code, &say.code, err) < 0 ||
	    get_escaped(o, "message", &text, &say.text, err) < 0)
		return -1;
	run_message(run, &say);
	return 0;
}

static int
get_index(const json_t *o, int *out, struct err *err)
{
	const json_t *v = json_object_get(o, "index");

	*out = -1;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > LINE_INDEX_MAX)
		return bad(err, "index", "a small number");
	*out = (int)json_integer_value(v);
	return 0;
}

static int
get_delta(const json_t *o, bool *out, struct err *err)
{
	const json_t *v = json_object_get(o, "delta");

	if (v != NULL && !json_is_null(v) && !json_is_boolean(v))
		return bad(err, "delta", "true or false");
	*out = json_is_true(v);
	return 0;
}

/* data is an object, what else there is are strings; anything may be null. */
static int
get_value(const json_t *o, enum part_type type, int i, struct str *store,
    struct run_content *say, struct err *err)
{
	const struct part_kind *kind = &part_kinds[type];
	const char *name = kind->field[i];
	const json_t *v = json_object_get(o, name);

	if (v == NULL || json_is_null(v))
		return 0;
	if (type == PART_DATA ? !json_is_object(v) : !json_is_string(v))
		return bad(err, name,
		    type == PART_DATA ? "an object" : "a string");
	if (kind->grows) {
		if (get_escaped(o, name, store, &say->value[i], err) < 0)
			return -1;
	} else {
		escape_json(store, v);
		say->value[i] = (struct slice){ store->at, store->len };
	}
	say->valued = true;
	return 0;
}

static int
apply_content(const json_t *o, struct run *run, struct err *err)
{
	struct str store[PART_FIELDS] = { 0 };
	struct run_content say = { .type = PART_TEXT };
	enum run_status status = RUN_IN_PROGRESS;
	const char *type;
	int t, rc = -1;

	if (get_label(o, "msg_id", &say.label, err) < 0 ||
	    get_word(o, "type", &type, err) < 0 ||
	    get_index(o, &say.index, err) < 0 ||
	    get_delta(o, &say.delta, err) < 0 ||
	    get_status(o, &status, err) < 0)
		return -1;
	if ((t = type != NULL ? part_type_parse(type) : PART_TEXT) < 0)
		return bad(err, "type", "a type of content");
	say.type = (enum part_type)t;
	say.completed = status == RUN_COMPLETED;
	for (int i = 0; part_kinds[t].field[i] != NULL; i++)
		if (get_value(o, say.type, i, &store[i], &say, err) < 0)
			goto out;
	run_content(run, &say);
	rc = 0;
out:
	for (int i = 0; i < PART_FIELDS; i++)
		str_free(&store[i]);
	return rc;
}

static int
apply_text(const json_t *o, struct run *run, struct err *err)
{
	auto_str struct str store = { 0 };
	struct slice text;

	if (get_escaped(o, "text", &store, &text, err) < 0)
		return -1;
	run_text(run, text);
	return 0;
}

static int
apply_usage(const json_t *o, struct run *run, struct err *err)
{
	auto_str struct str store = { 0 };
	struct slice usage;

	if (get_object(o, "usage", &store, &usage, err) < 0)
		return -1;
	if (usage.at != NULL)
		run_usage(run, usage);
	return 0;
}

static int
apply_end(const json_t *o, struct run *run, struct err *err)
{
	const json_t *error = json_object_get(o, "error");
	enum run_status status = RUN_COMPLETED;
	const char *code, *why;

	if (get_status(o, &status, err) < 0)
		return -1;
	if (status == RUN_CREATED || status == RUN_IN_PROGRESS ||
	    status == RUN_QUEUED)
		return bad(err, "status", "an end");
	if (error != NULL && !json_is_null(error) && !json_is_object(error))
		return bad(err, "error", "an object");
	if (get_word(error, "code", &code, err) < 0 ||
	    get_word(error, "message", &why, err) < 0)
		return -1;
	if (status == RUN_FAILED) {
		code = code != NULL ? code : "AGENT_ERROR";
		why = why != NULL ? why : "the agent failed";
	}
	run_end(run, status, code, why);
	return 0;
}

static const struct {
	const char *object, *op;
	int (*apply)(const json_t *, struct run *, struct err *);
} rows[] = {
	{ "content", NULL, apply_content },
	{ "message", NULL, apply_message },
	{ NULL, "end", apply_end },
	{ NULL, "usage", apply_usage },
};

static bool
same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int
apply_rest(const json_t *o, struct run *run, struct err *err)
{
	const char *op = jtext_cstring(json_object_get(o, "op"));
	const char *object = jtext_cstring(json_object_get(o, "object"));

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (same(rows[i].object, object) || same(rows[i].op, op))
			return rows[i].apply(o, run, err);
	if (op == NULL && object == NULL && json_object_get(o, "text") != NULL)
		return apply_text(o, run, err);
	return err_set(err, ERR_PROTO,
	    "neither text, content, message nor end");
}

int
line_apply(const struct line *l, struct run *run, struct err *err)
{
	if (l->is_text)
		run_text(run, l->text);
	else if (l->is_delta)
		run_content(run,
		    &(struct run_content){
			.label = l->label,
			.type = PART_TEXT,
			.index = l->index,
			.delta = true,
			.valued = true,
			.value = { l->text },
		    });
	else
		return apply_rest(l->rest, run, err);
	return 0;
}
