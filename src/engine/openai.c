#include <string.h>
#include "engine/escape.h"
#include "engine/openai.h"
#include "engine/pick.h"

void
put_text(struct str *out, struct slice escaped)
{
	str_putc(out, '"');
	if (escaped.len > 0)
		str_add(out, escaped.at, escaped.len);
	str_putc(out, '"');
}

void
put_plain(struct str *out, const char *text)
{
	str_putc(out, '"');
	escape_text(out, text, strlen(text));
	str_putc(out, '"');
}

/* ---- text that grows ---- */

static uint64_t
fnv(uint64_t hash, const char *at, size_t n)
{
	if (hash == 0)
		hash = 14695981039346656037u;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)at[i]) * 1099511628211u;
	return hash;
}

void
told_add(struct told *t, struct slice more)
{
	t->hash = fnv(t->hash, more.at, more.len);
	t->len += more.len;
}

struct slice
told_more(struct told *t, struct slice whole)
{
	struct slice more = { NULL, 0 };

	if (whole.at == NULL || whole.len <= t->len ||
	    (t->len > 0 && fnv(0, whole.at, t->len) != t->hash))
		return more;
	more = (struct slice){ whole.at + t->len, whole.len - t->len };
	told_add(t, more);
	return more;
}

/* ---- parts ---- */

static struct slice
field_text(const struct part *p, int i)
{
	return slice_inside(slice_of(&p->field[i]));
}

static void
put_slice(struct str *out, struct slice s)
{
	if (s.len > 0)
		str_add(out, s.at, s.len);
}

static void
put_link(struct str *out, const char *name, struct slice url)
{
	str_puts(out, name);
	str_putc(out, '(');
	put_slice(out, url);
	str_putc(out, ')');
}

static bool
is_url(struct slice s)
{
	return slice_begins(s, "data:") || slice_begins(s, "http:") ||
	    slice_begins(s, "https:");
}

static void
put_audio(struct str *out, const struct part *p)
{
	struct slice data = field_text(p, 0), format = field_text(p, 1);

	if (is_url(data)) {
		put_link(out, "[audio]", data);
		return;
	}
	str_puts(out, "[audio](data:audio/");
	put_slice(out, format.len > 0 ? format : (struct slice){ "wav", 3 });
	str_puts(out, ";base64,");
	put_slice(out, data);
	str_putc(out, ')');
}

enum { FILE_URL, FILE_ID, FILE_NAME, FILE_DATA };

static void
put_file(struct str *out, const struct part *p)
{
	struct slice url = field_text(p, FILE_URL), id = field_text(p, FILE_ID),
		     name = field_text(p, FILE_NAME),
		     data = field_text(p, FILE_DATA);

	if (name.len == 0)
		name = id.len > 0 ? id : (struct slice){ "file", 4 };
	if (url.len == 0 && data.len == 0) {
		put_slice(out, name);
		return;
	}
	str_putc(out, '[');
	put_slice(out, name);
	str_puts(out, "](");
	if (url.len == 0 && !is_url(data))
		str_puts(out, "data:application/octet-stream;base64,");
	put_slice(out, url.len > 0 ? url : data);
	str_putc(out, ')');
}

void
openai_part_text(struct str *out, const struct part *p)
{
	switch (p->type) {
	case PART_IMAGE:
		put_link(out, "![image]", field_text(p, 0));
		break;
	case PART_VIDEO:
		put_link(out, "[video]", field_text(p, 0));
		break;
	case PART_AUDIO:
		put_audio(out, p);
		break;
	case PART_FILE:
		put_file(out, p);
		break;
	case PART_DATA:
		escape_text(out, str_text(&p->field[0]), p->field[0].len);
		break;
	default:
		put_slice(out, slice_of(&p->field[0]));
	}
}

struct slice
openai_data(const struct message *m)
{
	for (unsigned i = 0; i < m->nparts; i++)
		if (m->part[i].type == PART_DATA && m->part[i].field[0].len > 0)
			return slice_of(&m->part[i].field[0]);
	return (struct slice){ NULL, 0 };
}

void
openai_member_text(struct str *out, struct slice data, const char *name)
{
	struct slice v = pick(data, name), text = slice_inside(v);

	if (text.at != NULL)
		put_slice(out, text);
	else if (v.at != NULL && !slice_is(v, "null"))
		escape_text(out, v.at, v.len);
}

/* ---- usage, errors ---- */

static const struct {
	const char *inside, *name; /* inside: of which object; NULL: usage */
	size_t at;
} counts[] = {
#define AT(member) offsetof(struct usage, member)
	{ NULL, "input_tokens", AT(input) },
	{ NULL, "prompt_tokens", AT(input) },
	{ NULL, "output_tokens", AT(output) },
	{ NULL, "completion_tokens", AT(output) },
	{ NULL, "total_tokens", AT(total) },
	{ "input_tokens_details", "cached_tokens", AT(cached) },
	{ "prompt_tokens_details", "cached_tokens", AT(cached) },
	{ "input_token_details", "cache_read", AT(cached) },
	{ "input_tokens_details", "cache_write_tokens", AT(written) },
	{ "input_token_details", "cache_creation", AT(written) },
	{ "output_tokens_details", "reasoning_tokens", AT(reasoning) },
	{ "completion_tokens_details", "reasoning_tokens", AT(reasoning) },
	{ "output_token_details", "reasoning", AT(reasoning) },
#undef AT
};

bool
openai_usage(struct usage *u, const char *json)
{
	struct slice all = { json, json != NULL ? strlen(json) : 0 };
	bool found = false;

	*u = (struct usage){ 0 };
	if (json == NULL || *json != '{')
		return false;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		int64_t *n = (int64_t *)(void *)((char *)u + counts[i].at);
		struct slice in = counts[i].inside != NULL
		    ? pick(all, counts[i].inside)
		    : all;

		if (*n == 0 && pick_int(in, counts[i].name, n)) {
			found |= counts[i].inside == NULL;
			if (*n < 0)
				*n = 0;
		}
	}
	if (u->total == 0)
		u->total = u->input + u->output;
	return found;
}

static const char *const known_codes[] = { "server_error",
	"rate_limit_exceeded", "invalid_prompt", "vector_store_timeout",
	"invalid_image", "invalid_image_format", "invalid_base64_image",
	"invalid_image_url", "image_too_large", "image_too_small",
	"image_parse_error", "image_content_policy_violation",
	"invalid_image_mode", "image_file_too_large",
	"unsupported_image_media_type", "empty_image_file",
	"failed_to_download_image", "image_file_not_found" };

static const struct {
	const char *ours, *theirs;
} codes[] = {
	{ "RATE_LIMIT_EXCEEDED", "rate_limit_exceeded" },
	{ "MODEL_QUOTA_EXCEEDED", "rate_limit_exceeded" },
	{ "INVALID_PARAMETER", "invalid_prompt" },
	{ "MISSING_PARAMETER", "invalid_prompt" },
	{ "PARAMETER_VALIDATION", "invalid_prompt" },
	{ "MODEL_CONTEXT_LENGTH_EXCEEDED", "invalid_prompt" },
};

const char *
openai_error_code(const char *code)
{
	if (code == NULL)
		return "server_error";
	for (size_t i = 0; i < sizeof known_codes / sizeof *known_codes; i++)
		if (strcmp(code, known_codes[i]) == 0)
			return known_codes[i];
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(code, codes[i].ours) == 0)
			return codes[i].theirs;
	return "server_error";
}
