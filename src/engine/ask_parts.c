#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "engine/ask.h"

static json_t *
text_of(const json_t *string)
{
	return json_pack("{s:s,s:O}", "type", "text", "text",
	    (json_t *)(uintptr_t)string);
}

json_t *
ask_texts(const json_t *string)
{
	return json_pack("[o]", text_of(string));
}

void
ask_param(char *out, size_t size, const char *param, const char *name)
{
	snprintf(out, size, "%.64s.%.28s", param, name);
}

/* A string that the part must have. */
const json_t *
ask_need(const json_t *part, const char *name, const char *param,
    struct ask_fault *f)
{
	const json_t *v = json_object_get(part, name);
	char at[96];

	if (json_is_string(v))
		return v;
	ask_param(at, sizeof at, param, name);
	if (v == NULL)
		ask_missing(f, at);
	else
		ask_type(f, at, "a string", v);
	return NULL;
}

typedef json_t *part_fn(const json_t *, const char *param, struct ask_fault *);

static json_t *
part_text(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *v = ask_need(part, "text", param, f);

	return v != NULL ? text_of(v) : NULL;
}

static json_t *
part_refusal(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *v = ask_need(part, "refusal", param, f);

	return v != NULL ? json_pack("{s:s,s:O}", "type", "refusal", "refusal",
			       (json_t *)(uintptr_t)v)
			 : NULL;
}

/* Of Responses a string, of chat completions an object with a url. */
static json_t *
part_image(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *url = json_object_get(part, "image_url"),
		     *id = json_object_get(part, "file_id");
	char at[96];

	if (json_is_object(url)) {
		ask_param(at, sizeof at, param, "image_url");
		url = ask_need(url, "url", at, f);
		if (url == NULL)
			return NULL;
	}
	if (!json_is_string(url) && json_is_string(id))
		return json_pack("{s:s,s:O}", "type", "file", "file_id",
		    (json_t *)(uintptr_t)id);
	if (!json_is_string(url)) {
		ask_need(part, "image_url", param, f);
		return NULL;
	}
	return json_pack("{s:s,s:O}", "type", "image", "image_url",
	    (json_t *)(uintptr_t)url);
}

static json_t *
part_audio(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *in = json_object_get(part, "input_audio");
	const json_t *data, *format;
	char at[96];

	ask_param(at, sizeof at, param, "input_audio");
	if (in == NULL)
		in = part; /* upstream's own: the members stand in the part */
	else if (!json_is_object(in)) {
		ask_type(f, at, "an object", in);
		return NULL;
	}
	data = ask_need(in, "data", in == part ? param : at, f);
	format = data != NULL
	    ? ask_need(in, "format", in == part ? param : at, f)
	    : NULL;
	if (format == NULL)
		return NULL;
	return json_pack("{s:s,s:O,s:O}", "type", "audio", "data",
	    (json_t *)(uintptr_t)data, "format", (json_t *)(uintptr_t)format);
}

static json_t *
part_file(const json_t *part, const char *param, struct ask_fault *f)
{
	static const char *const names[] = { "file_url", "file_id", "filename",
		"file_data" };
	const json_t *in = json_object_get(part, "file");
	json_t *out = json_pack("{s:s}", "type", "file");
	char at[96];
	bool any = false;

	if (!json_is_object(in))
		in = part;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *v = json_object_get(in, names[i]);

		if (v == NULL || json_is_null(v))
			continue;
		if (!json_is_string(v)) {
			ask_param(at, sizeof at, param, names[i]);
			ask_type(f, at, "a string", v);
			json_decref(out);
			return NULL;
		}
		any |= i != 2;
		json_object_set(out, names[i], v);
	}
	if (any)
		return out;
	json_decref(out);
	ask_value(f, param, "'%.80s' has none of file_data, file_url, file_id.",
	    param);
	return NULL;
}

static json_t *
part_video(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *v = json_object_get(part, "video_url");
	char at[96];

	ask_param(at, sizeof at, param, "video_url");
	v = json_is_object(v) ? ask_need(v, "url", at, f)
			      : ask_need(part, "video_url", param, f);
	return v != NULL ? json_pack("{s:s,s:O}", "type", "video", "video_url",
			       (json_t *)(uintptr_t)v)
			 : NULL;
}

static const struct {
	const char *type;
	part_fn *make;
} parts[] = {
	{ "input_text", part_text },
	{ "output_text", part_text },
	{ "text", part_text },
	{ "reasoning_text", part_text },
	{ "summary_text", part_text },
	{ "refusal", part_refusal },
	{ "input_image", part_image },
	{ "image_url", part_image },
	{ "computer_screenshot", part_image },
	{ "input_audio", part_audio },
	{ "input_file", part_file },
	{ "file", part_file },
	{ "input_video", part_video },
	{ "video_url", part_video },
};

static json_t *
part_of(const json_t *part, const char *param, struct ask_fault *f)
{
	const json_t *type;

	if (!json_is_object(part)) {
		ask_type(f, param, "an object", part);
		return NULL;
	}
	type = ask_need(part, "type", param, f);
	if (type == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(parts[i].type, json_string_value(type)) == 0)
			return parts[i].make(part, param, f);
	ask_value(f, param, "'%.60s': there are no parts of type '%.40s'.",
	    param, json_string_value(type));
	return NULL;
}

json_t *
ask_content(const json_t *content, const char *param, struct ask_fault *f)
{
	json_t *out, *v, *part;
	char at[96];
	size_t i;

	if (json_is_string(content))
		return ask_texts(content);
	if (!json_is_array(content)) {
		if (content == NULL)
			ask_missing(f, param);
		else
			ask_type(f, param, "a string or an array", content);
		return NULL;
	}
	out = json_array();
	json_array_foreach(content, i, v) {
		snprintf(at, sizeof at, "%.60s[%zu]", param, i);
		part = part_of(v, at, f);
		if (part == NULL) {
			json_decref(out);
			return NULL;
		}
		json_array_append_new(out, part);
	}
	return out;
}
