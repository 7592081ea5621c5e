#include <string.h>
#include "web/fetchline.h"

#define LINE_MOST 4096

void
fetch_lines_free(struct fetch_lines *f)
{
	str_free(&f->buf);
	f->used = 0;
}

void
fetch_lines_feed(struct fetch_lines *f, const void *bytes, size_t n)
{
	if (f->used > 0) {
		str_drop(&f->buf, f->used);
		f->used = 0;
	}
	str_add(&f->buf, bytes, n);
}

/* What follows a word and one blank; NULL: line does not begin with it. */
static char *
after(char *line, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) != 0)
		return NULL;
	if (line[n] == '\0')
		return line + n;
	return line[n] == ' ' ? line + n + 1 : NULL;
}

static void
read_error(char *text, struct err *err)
{
	for (int code = 0; code < ERR_CODES; code++) {
		char *rest = after(text, err_name((enum err_code)code));

		if (rest == NULL)
			continue;
		err_set(err, (enum err_code)code, "%s", rest);
		return;
	}
	err_set(err, ERR_PROTO, "%s", text);
}

int
fetch_lines_next(struct fetch_lines *f, struct fetch_line *line,
    struct err *err)
{
	size_t have = f->buf.len - f->used;
	char *at, *nl, *text;

	if (have == 0)
		return 0;
	at = f->buf.at + f->used;
	nl = memchr(at, '\n', have);
	if (nl == NULL && have <= LINE_MOST)
		return 0;
	if (nl == NULL || nl - at > LINE_MOST)
		return err_set(err, ERR_PROTO,
		    "the fetcher's line is too long");
	*nl = '\0';
	f->used += (size_t)(nl - at) + 1;
	if ((text = after(at, "progress")) != NULL)
		line->word = FETCH_PROGRESS;
	else if ((text = after(at, "done")) != NULL)
		line->word = FETCH_DONE;
	else if ((text = after(at, "error")) != NULL) {
		line->word = FETCH_ERROR;
		read_error(text, &line->err);
	} else
		return err_set(err, ERR_PROTO,
		    "the fetcher says what it should not: %.80s", at);
	line->text = text;
	return 1;
}
