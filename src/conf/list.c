#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "conf/list.h"

static bool
blank(char c)
{
	return c == ' ' || c == '\t';
}

bool
list_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; *p != '\0'; p += *p == ' ') {
		size_t len = strcspn(p, " ");

		if (len == n && n > 0 && memcmp(p, word, n) == 0)
			return true;
		p += len;
	}
	return false;
}

/* Text that survives being written to a file and read again. */
bool
list_printable(const char *text)
{
	size_t n = strlen(text);

	if (n > 0 &&
	    (blank(text[0]) || blank(text[n - 1]) ||
		strchr(";#", *text) != NULL))
		return false;
	for (const char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f ||
		    (*p == ';' && blank(p[-1])))
			return false;
	return true;
}

static bool
item_text(const char *words, const char *item)
{
	(void)words;
	return *item != '\0';
}

static bool
item_word(const char *words, const char *item)
{
	return list_has_word(words, item);
}

static bool
item_path(const char *words, const char *item)
{
	(void)words;
	return item[0] == '/';
}

static bool
item_bind(const char *words, const char *item)
{
	const char *colon = strchr(item, ':');

	(void)words;
	return item[0] == '/' && colon != NULL && colon[1] == '/' &&
	    colon[2] != '\0' && strchr(colon + 1, ':') == NULL;
}

static bool
item_env(const char *words, const char *item)
{
	size_t n = strcspn(item, "=");

	(void)words;
	if (n == 0 || item[n] == '\0' || isdigit((unsigned char)*item))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)item[i]) && item[i] != '_')
			return false;
	return true;
}

static bool
item_head(const char *words, const char *item)
{
	size_t n = strcspn(item, ":");

	(void)words;
	if (n == 0 || item[n] == '\0')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)item[i]) && item[i] != '-' &&
		    item[i] != '_')
			return false;
	return true;
}

static bool (*const items[])(const char *words, const char *) = {
	[LIST_TEXT] = item_text,
	[LIST_WORD] = item_word,
	[LIST_PATH] = item_path,
	[LIST_BIND] = item_bind,
	[LIST_ENV] = item_env,
	[LIST_LINE] = item_text,
	[LIST_HEAD] = item_head,
};

void
list_free(struct conf_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i]);
	*l = (struct conf_list){ 0 };
}

/* The text without blanks and, if it has them, one pair of marks around it. */
static char *
bare(const char *text, size_t n, const char *open, const char *close)
{
	const char *mark;

	while (n > 0 && blank(*text))
		text++, n--;
	while (n > 0 && blank(text[n - 1]))
		n--;
	mark = n > 1 ? strchr(open, *text) : NULL;
	if (mark != NULL && text[n - 1] == close[mark - open])
		text++, n -= 2;
	return xstrndup(text, n);
}

/* "host": "inside", as JSON has it, or host:inside */
static char *
bind_item(char *item)
{
	char *sep = strchr(item, ':');
	auto_free char *host = NULL, *inside = NULL;

	if (sep == NULL || strchr(item, '"') == NULL)
		return item;
	host = bare(item, (size_t)(sep - item), "\"", "\"");
	inside = bare(sep + 1, strlen(sep + 1), "\"", "\"");
	free(item);
	return xasprintf("%s:%s", host, inside);
}

static int
put(struct conf_list *l, enum list_item kind, const char *words,
    const char *text, size_t n)
{
	bool whole = kind == LIST_LINE || kind == LIST_HEAD;
	auto_free char *item =
	    whole ? bare(text, n, "", "") : bare(text, n, "\"'", "\"'");

	if (kind == LIST_BIND) {
		free(item);
		item = bind_item(bare(text, n, "", ""));
	}
	if (!whole && strchr("[{\"'", *item) != NULL && *item != '\0')
		return -1; /* half of a pair, or a list in a list */
	if (l->n == CONF_LIST || strlen(item) > LIST_TEXT_MAX ||
	    !list_printable(item) || !items[kind](words, item))
		return -1;
	l->at[l->n++] = take_ptr(&item);
	return 0;
}

int
list_add(struct conf_list *l, enum list_item kind, const char *words,
    const char *text)
{
	auto_free char *all = bare(text, strlen(text), "[{", "]}");

	if (kind >= LIST_ENV)
		return *text == '\0' ? 0
				     : put(l, kind, words, text, strlen(text));
	for (char *p = all; *p != '\0';) {
		size_t n = strcspn(p, ",");

		if (put(l, kind, words, p, n) < 0)
			return -1;
		p += n;
		if (*p == ',' && *++p == '\0')
			return -1;
	}
	return 0;
}
