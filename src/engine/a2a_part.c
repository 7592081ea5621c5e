#include "engine/a2a_part.h"

#include "base/own.h"
#include "base/str.h"
#include "engine/part_json.h"

json_t *
a2a_text(const struct str *text)
{
	auto_str struct str quoted = { 0 };

	str_putc(&quoted, '"');
	str_add(&quoted, str_text(text), text->len);
	str_putc(&quoted, '"');
	return json_loadb(quoted.at, quoted.len,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static void
set(json_t *o, const char *name, json_t *v)
{
	if (json_is_string(v))
		json_object_set(o, name, v);
	json_decref(v);
}

static void
locate(json_t *file, const json_t *value, const char *mime)
{
	struct place at;

	if (!json_is_string(value))
		return;
	at = place_of(json_string_value(value), mime);
	if (at.base64 != NULL) {
		json_object_set_new(file, "mimeType",
		    json_stringn(at.mime, at.nmime));
		json_object_set_new(file, "bytes", json_string(at.base64));
	} else {
		json_object_set_new(file, "uri", json_string(at.url));
	}
}

/* NULL: there is nothing in it. */
static json_t *
file_of(const struct part *p)
{
	json_t *file = json_object(), *value = part_value(p, 0), *data;
	auto_free char *mime = part_mime(p);

	locate(file, value, mime);
	json_decref(value);
	if (p->type == PART_FILE) {
		data = part_value(p, 3);
		if (json_object_size(file) == 0)
			locate(file, data, "application/octet-stream");
		json_decref(data);
		set(file, "name", part_value(p, 2));
	}
	if (json_object_get(file, "uri") == NULL &&
	    json_object_get(file, "bytes") == NULL) {
		json_decref(file);
		return NULL;
	}
	return json_pack("{s:s,s:o}", "kind", "file", "file", file);
}

json_t *
a2a_part(const struct part *p)
{
	json_t *data;

	if (part_kinds[p->type].grows)
		return json_pack("{s:s,s:o}", "kind", "text", "text",
		    a2a_text(&p->field[0]));
	if (p->type != PART_DATA)
		return file_of(p);
	data = part_value(p, 0);
	return data != NULL
	    ? json_pack("{s:s,s:o}", "kind", "data", "data", data)
	    : NULL;
}

json_t *
a2a_parts(const struct message *m)
{
	json_t *out = json_array(), *p;

	for (unsigned i = 0; i < m->nparts; i++) {
		p = a2a_part(&m->part[i]);
		if (p != NULL)
			json_array_append_new(out, p);
	}
	return out;
}
