#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/record.h"

#define LIST_MAX 4096
#define TEXT_MAX (1u << 20) /* what the store takes */

enum part_type { PART_TEXT, PART_LIST, PART_MAP };

/* clang-format off */
static const struct {
	const char	*from, *to;
	enum part_type	 type;
} parts[] = {
	{ "Env",	"env",		PART_LIST },
	{ "Entrypoint",	"entrypoint",	PART_LIST },
	{ "Cmd",	"cmd",		PART_LIST },
	{ "WorkingDir",	"workdir",	PART_TEXT },
	{ "User",	"user",		PART_TEXT },
	{ "Labels",	"labels",	PART_MAP },
	{ "StopSignal",	"stop_signal",	PART_TEXT },
};
/* clang-format on */

static json_t *
hex_text(const char *prefix, const uint8_t digest[MANIFEST_DIGEST])
{
	char hex[2 * MANIFEST_DIGEST + 1];

	hex_put(hex, digest, MANIFEST_DIGEST);
	return json_sprintf("%s%s", prefix, hex);
}

static bool
all_texts(json_t *v)
{
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach(v, i, value)
		if (!json_is_string(value))
			return false;
	json_object_foreach(v, key, value)
		if (!json_is_string(value))
			return false;
	return json_array_size(v) <= LIST_MAX &&
	    json_object_size(v) <= LIST_MAX;
}

static json_t *
empty(enum part_type type)
{
	return type == PART_TEXT ? json_string("")
	    : type == PART_LIST  ? json_array()
				 : json_object();
}

static int
add_part(json_t *out, json_t *config, size_t i, struct err *err)
{
	static const json_type types[] = { [PART_TEXT] = JSON_STRING,
		[PART_LIST] = JSON_ARRAY,
		[PART_MAP] = JSON_OBJECT };
	json_t *v = json_object_get(config, parts[i].from);

	if (v == NULL || json_is_null(v))
		return json_object_set_new(out, parts[i].to,
		    empty(parts[i].type));
	if (json_typeof(v) != types[parts[i].type] || !all_texts(v))
		return err_set(err, ERR_INVALID,
		    "the config's \"%s\" is of a wrong kind", parts[i].from);
	return json_object_set(out, parts[i].to, v);
}

static json_t *
layers_json(const struct record *r, uint64_t *total)
{
	json_t *list = json_array();

	*total = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct record_layer *l = &r->layer[i];

		*total += l->size;
		json_array_append_new(list,
		    json_pack("{so so sI sI}", "id", hex_text("", l->id),
			"diff_id", hex_text("sha256:", l->diff), "size",
			(json_int_t)l->size, "packed", (json_int_t)l->packed));
	}
	return list;
}

char *
record_text(const struct record *r, struct err *err)
{
	own(json_decref) json_t *config = json_object();
	own(json_decref) json_t *doc = NULL;
	json_t *made = json_object_get(r->config->doc, "created");
	json_t *layers;
	uint64_t total;
	char *text;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (add_part(config, json_object_get(r->config->doc, "config"),
			i, err) < 0)
			return NULL;
	layers = layers_json(r, &total);
	doc = json_pack("{si ss so so sO sf ss ss sI so sO}", "version", 1,
	    "name", r->name, "id", hex_text("sha256:", r->id), "digest",
	    r->has_digest ? hex_text("sha256:", r->digest) : json_null(),
	    "created", json_is_string(made) ? made : json_null(), "imported",
	    clock_unix(), "os", r->config->os, "architecture", r->config->arch,
	    "size", (json_int_t)total, "layers", layers, "config", config);
	text = doc != NULL ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	if (text == NULL || strlen(text) > TEXT_MAX) {
		err_set(err, ERR_LIMIT, "the image's config is too long");
		free(text);
		return NULL;
	}
	return text;
}
