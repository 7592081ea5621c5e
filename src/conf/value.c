#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "conf/list.h"
#include "conf/value.h"

typedef int set_fn(const struct value_rule *, void *at, const char *text);
typedef void print_fn(const void *at, struct str *);

static bool
blank(char c)
{
	return c == ' ' || c == '\t';
}

static int
put_text(void *at, const char *text)
{
	char **to = at, *old = *to;

	*to = xstrdup(text);
	free(old);
	return 0;
}

static int
set_text(const struct value_rule *r, void *at, const char *text)
{
	size_t n = strlen(text);

	if (n < r->min || n > (r->max > 0 ? r->max : VALUE_TEXT_MAX) ||
	    !list_printable(text))
		return -1;
	return put_text(at, text);
}

static int
set_path(const struct value_rule *r, void *at, const char *text)
{
	if (text[0] != '/' && (text[0] != '\0' || r->min > 0))
		return -1;
	return set_text(r, at, text);
}

static int
set_word(const struct value_rule *r, void *at, const char *text)
{
	return list_has_word(r->words, text) ? put_text(at, text) : -1;
}

static int
set_only(const struct value_rule *r, void *at, const char *text)
{
	auto_free char *low = xstrdup(text);

	(void)at;
	for (char *p = low; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return *low == '\0' || list_has_word(r->words, low) ? 0 : -1;
}

static int
set_idle(const struct value_rule *r, void *at, const char *text)
{
	(void)r;
	(void)at;
	(void)text;
	return 0;
}

static int
set_bool(const struct value_rule *r, void *at, const char *text)
{
	static const char *const names[] = { "no", "yes", "false", "true",
		"off", "on", "0", "1" };

	(void)r;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(text, names[i]) == 0) {
			*(bool *)at = i % 2;
			return 0;
		}
	return -1;
}

/* Digits only, no sign, no overflow; *rest is what follows them. */
static int
number(const char *text, uint64_t *out, const char **rest)
{
	uint64_t n = 0;
	const char *p = text;

	for (; isdigit((unsigned char)*p); p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return -1;
		n = n * 10 + digit;
	}
	if (p == text)
		return -1;
	*out = n;
	*rest = p;
	return 0;
}

static int
within(const struct value_rule *r, uint64_t n)
{
	return n >= r->min && n <= r->max ? 0 : -1;
}

struct unit {
	const char *name;
	uint64_t times;
};

static int
scaled(const char *text, const struct unit *units, uint64_t *out)
{
	const char *rest;
	uint64_t n;

	if (number(text, &n, &rest) < 0)
		return -1;
	while (blank(*rest))
		rest++;
	for (const struct unit *u = units; u->name != NULL; u++) {
		if (strcasecmp(rest, u->name) != 0)
			continue;
		if (n > UINT64_MAX / u->times)
			return -1;
		*out = n * u->times;
		return 0;
	}
	return -1;
}

/* clang-format off */
static const struct unit sizes[] = {
	{ "TiB", 1ull << 40 }, { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 },
	{ "KiB", 1ull << 10 }, { "", 1 }, { "B", 1 },
	{ "T", 1ull << 40 }, { "G", 1ull << 30 }, { "M", 1ull << 20 },
	{ "K", 1ull << 10 },
	{ "TB", 1000000000000 }, { "GB", 1000000000 }, { "MB", 1000000 },
	{ "KB", 1000 },
	{ NULL, 0 }
};
static const struct unit times[] = {
	{ "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 }, { "", 1 },
	{ "m", 60 },
	{ NULL, 0 }
};
/* clang-format on */

static int
set_size(const struct value_rule *r, void *at, const char *text)
{
	uint64_t n;

	if (scaled(text, sizes, &n) < 0 || within(r, n) < 0)
		return -1;
	*(uint64_t *)at = n;
	return 0;
}

static int
set_time(const struct value_rule *r, void *at, const char *text)
{
	uint64_t n = 0;

	if (strcmp(text, "off") != 0 && scaled(text, times, &n) < 0)
		return -1;
	if (within(r, n) < 0)
		return -1;
	*(uint32_t *)at = (uint32_t)n;
	return 0;
}

static int
set_count(const struct value_rule *r, void *at, const char *text)
{
	const char *rest;
	uint64_t n;

	if (number(text, &n, &rest) < 0 || *rest != '\0' || within(r, n) < 0)
		return -1;
	*(uint32_t *)at = (uint32_t)n;
	return 0;
}

static int
set_port(const struct value_rule *r, void *at, const char *text)
{
	const struct value_rule port = { .max = 65535 };
	uint32_t n;

	(void)r;
	if (set_count(&port, &n, text) < 0)
		return -1;
	*(uint16_t *)at = (uint16_t)n;
	return 0;
}

static int
set_cpu(const struct value_rule *r, void *at, const char *text)
{
	const char *rest;
	uint64_t n, milli = 100;

	if (number(text, &n, &rest) < 0 || n > UINT32_MAX / 1000)
		return -1;
	n *= 1000;
	if (*rest == '.')
		for (rest++; isdigit((unsigned char)*rest); rest++) {
			n += milli * (uint64_t)(*rest - '0');
			milli /= 10;
		}
	if (*rest != '\0' || within(r, n) < 0)
		return -1;
	*(uint32_t *)at = (uint32_t)n;
	return 0;
}

static int
set_sha256(const struct value_rule *r, void *at, const char *text)
{
	(void)r;
	return hex_get(at, 32, text);
}

static const enum list_item items[VALUE_KINDS] = {
	[VALUE_TEXTS] = LIST_TEXT,
	[VALUE_WORDS] = LIST_WORD,
	[VALUE_PATHS] = LIST_PATH,
	[VALUE_BINDS] = LIST_BIND,
	[VALUE_ENVS] = LIST_ENV,
	[VALUE_LINES] = LIST_LINE,
	[VALUE_HIDDEN] = LIST_HEAD,
};

bool
value_is_list(const struct value_rule *r)
{
	return items[r->kind] != LIST_NONE;
}

static int
set_list(const struct value_rule *r, void *at, const char *text)
{
	struct conf_list *l = at, fresh = { 0 };

	if (list_add(&fresh, items[r->kind], r->words, text) < 0) {
		list_free(&fresh);
		return -1;
	}
	list_free(l);
	*l = fresh;
	return 0;
}

/* ---- printing ---- */

static void
print_text(const void *at, struct str *out)
{
	const char *text = *(char *const *)at;

	str_puts(out, text != NULL ? text : "");
}

static void
print_bool(const void *at, struct str *out)
{
	str_puts(out, *(const bool *)at ? "yes" : "no");
}

static void
print_port(const void *at, struct str *out)
{
	str_printf(out, "%u", *(const uint16_t *)at);
}

static void
print_count(const void *at, struct str *out)
{
	str_printf(out, "%u", *(const uint32_t *)at);
}

static void
print_scaled(uint64_t n, const struct unit *u, struct str *out)
{
	while (u->times > 1 && (n == 0 || n % u->times != 0))
		u++;
	str_printf(out, "%llu%s", (unsigned long long)(n / u->times), u->name);
}

static void
print_size(const void *at, struct str *out)
{
	print_scaled(*(const uint64_t *)at, sizes, out);
}

static void
print_time(const void *at, struct str *out)
{
	print_scaled(*(const uint32_t *)at, times, out);
}

static void
print_cpu(const void *at, struct str *out)
{
	uint32_t n = *(const uint32_t *)at;

	str_printf(out, "%u.%03u", n / 1000, n % 1000);
	while (out->at[out->len - 1] == '0')
		str_cut(out, out->len - 1);
	if (out->at[out->len - 1] == '.')
		str_cut(out, out->len - 1);
}

static void
print_sha256(const void *at, struct str *out)
{
	char hex[65];

	hex_put(hex, at, 32);
	str_puts(out, hex);
}

static void
print_list(const void *at, struct str *out)
{
	const struct conf_list *l = at;

	for (size_t i = 0; i < l->n; i++)
		str_printf(out, "%s%s", i > 0 ? "\n\t" : "", l->at[i]);
}

/* clang-format off */
static const struct kind {
	const char	*name;
	size_t		 size;
	set_fn		*set;
	print_fn	*print;
	const char	*takes;	/* NULL: a number in the rule's range */
} kinds[VALUE_KINDS] = {
	[VALUE_TEXT]	= { "text",	sizeof(char *),	set_text,	print_text,	"text" },
	[VALUE_SECRET]	= { "secret",	sizeof(char *),	set_text,	print_text,	"text" },
	[VALUE_PATH]	= { "path",	sizeof(char *),	set_path,	print_text,	"an absolute path" },
	[VALUE_WORD]	= { "word",	sizeof(char *),	set_word,	print_text,	"one of" },
	[VALUE_BOOL]	= { "switch",	sizeof(bool),	set_bool,	print_bool,	"yes or no" },
	[VALUE_PORT]	= { "port",	sizeof(uint16_t),	set_port,	print_port,	"a port from 0 to 65535" },
	[VALUE_COUNT]	= { "number",	sizeof(uint32_t),	set_count,	print_count,	NULL },
	[VALUE_SIZE]	= { "size",	sizeof(uint64_t),	set_size,	print_size,	NULL },
	[VALUE_TIME]	= { "time",	sizeof(uint32_t),	set_time,	print_time,	NULL },
	[VALUE_CPU]	= { "number",	sizeof(uint32_t),	set_cpu,	print_cpu,	NULL },
	[VALUE_SHA256]	= { "sha256",	32,	set_sha256,	print_sha256,	"64 lower-case hexadecimal digits" },
	[VALUE_TEXTS]	= { "list",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 items, commas between" },
	[VALUE_WORDS]	= { "list",	sizeof(struct conf_list),	set_list,	print_list,	"some of" },
	[VALUE_PATHS]	= { "paths",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 absolute paths, commas between" },
	[VALUE_BINDS]	= { "binds",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 of /HOST:/INSIDE, commas between" },
	[VALUE_ENVS]	= { "env",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 of NAME=VALUE, one a line" },
	[VALUE_LINES]	= { "lines",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 lines of text" },
	[VALUE_HIDDEN]	= { "headers",	sizeof(struct conf_list),	set_list,	print_list,	"at most 32 of Name: value, one a line" },
	[VALUE_IDLE]	= { "idle",	0,	set_idle,	NULL,		"anything" },
	[VALUE_ONLY]	= { "only",	0,	set_only,	NULL,		"only" },
};
/* clang-format on */

static void
put_number(const struct value_rule *r, uint64_t n, struct str *out)
{
	uint32_t small = (uint32_t)n;

	kinds[r->kind].print(r->kind == VALUE_SIZE ? (void *)&n
						   : (void *)&small,
	    out);
}

void
value_takes(const struct value_rule *r, struct str *out)
{
	const struct kind *k = &kinds[r->kind];

	str_puts(out, k->takes != NULL ? k->takes : "a ");
	if (k->takes == NULL) {
		str_puts(out, k->name);
		str_puts(out, " from ");
		put_number(r, r->min, out);
		str_puts(out, " to ");
		put_number(r, r->max, out);
	}
	if (r->words != NULL) {
		str_puts(out, ": ");
		for (const char *p = r->words; *p != '\0'; p++)
			str_puts(out, *p == ' ' ? ", " : (char[]){ *p, '\0' });
	} else if (k->set == set_text) {
		str_printf(out, " of %u to %u characters", (unsigned)r->min,
		    r->max > 0 ? (unsigned)r->max : VALUE_TEXT_MAX);
	}
}

static bool
hidden(const struct value_rule *r)
{
	return r->kind == VALUE_SECRET || r->kind == VALUE_HIDDEN;
}

static int
refuse(const struct value_rule *r, const char *text, struct err *err)
{
	auto_str struct str takes = { 0 };

	value_takes(r, &takes);
	if (hidden(r))
		return err_set(err, ERR_INVALID, "takes %s", str_text(&takes));
	return err_set(err, ERR_INVALID, "takes %s; not \"%.60s\"",
	    str_text(&takes), text);
}

int
value_set(const struct value_rule *r, void *at, const char *text,
    struct err *err)
{
	return kinds[r->kind].set(r, at, text) < 0 ? refuse(r, text, err) : 0;
}

int
value_add(const struct value_rule *r, void *at, const char *text,
    struct err *err)
{
	return list_add(at, items[r->kind], r->words, text) < 0
	    ? refuse(r, text, err)
	    : 0;
}

void
value_print(const struct value_rule *r, const void *at, const char *name,
    FILE *out)
{
	auto_str struct str text = { 0 };

	if (kinds[r->kind].print == NULL || hidden(r))
		return;
	kinds[r->kind].print(at, &text);
	fprintf(out, "%s = %s\n", name, str_text(&text));
}

void
value_swap(const struct value_rule *r, void *a, void *b)
{
	unsigned char kept[sizeof(struct conf_list)];
	size_t n = kinds[r->kind].size;

	memcpy(kept, a, n);
	memcpy(a, b, n);
	memcpy(b, kept, n);
}

bool
value_same(const struct value_rule *r, const void *a, const void *b)
{
	auto_str struct str one = { 0 }, two = { 0 };

	if (kinds[r->kind].print == NULL)
		return true;
	kinds[r->kind].print(a, &one);
	kinds[r->kind].print(b, &two);
	return strcmp(str_text(&one), str_text(&two)) == 0;
}

void
value_free(const struct value_rule *r, void *at)
{
	if (value_is_list(r)) {
		list_free(at);
	} else if (kinds[r->kind].print == print_text ||
	    r->kind == VALUE_SECRET) {
		char **text = at;

		if (*text != NULL)
			explicit_bzero(*text, strlen(*text));
		free(*text);
		*text = NULL;
	}
}
