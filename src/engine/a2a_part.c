#include "engine/a2a_part.h"

#include <string.h>
#include "base/own.h"
#include "base/str.h"

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

static json_t *
field(const struct part *p, unsigned i)
{
	if (p->field[i].len == 0)
		return NULL;
	return json_loadb(p->field[i].at, p->field[i].len,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static void
set(json_t *o, const char *name, json_t *v)
{
	if (json_is_string(v))
		json_object_set(o, name, v);
	json_decref(v);
}

/* A URL, a data: URL, or base64 of this type, into a file. */
static void
locate(json_t *file, json_t *value, const char *mime)
{
	const char *text = json_string_value(value), *comma;

	if (text == NULL)
		return;
	if (strncmp(text, "data:", 5) == 0 &&
	    (comma = strstr(text, ";base64,")) != NULL) {
		json_object_set_new(file, "mimeType",
		    json_stringn(text + 5, (size_t)(comma - text - 5)));
		json_object_set_new(file, "bytes",
		    json_string(comma + strlen(";base64,")));
	} else if (mime != NULL && strstr(text, "://") == NULL) {
		json_object_set_new(file, "mimeType", json_string(mime));
		json_object_set(file, "bytes", value);
	} else {
		json_object_set(file, "uri", value);
	}
}

/* NULL: there is nothing in it. */
static json_t *
file_of(const struct part *p)
{
	json_t *file = json_object(), *value = field(p, 0), *data, *format;
	auto_free char *mime = NULL;

	if (p->type == PART_AUDIO) {
		format = field(p, 1);
		if (json_is_string(format))
			mime = xasprintf("audio/%s", json_string_value(format));
		json_decref(format);
	}
	locate(file, value, mime);
	json_decref(value);
	if (p->type == PART_FILE) {
		data = field(p, 3);
		if (json_object_size(file) == 0)
			locate(file, data, "application/octet-stream");
		json_decref(data);
		set(file, "name", field(p, 2));
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
	data = field(p, 0);
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
