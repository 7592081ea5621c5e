#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "web/multipart.h"
#include "web/parse.h"

enum state {
	PREAMBLE,
	DATA,
	AFTER,      /* a boundary: another part, or the end */
	AFTER_DASH, /* one of the two that end it all */
	AFTER_LF,
	HEAD,
	EPILOGUE,
	STATES
};

/* ---- parameters: "; name=value", the value perhaps quoted ---- */

/* Unquotes in place; returns what follows. */
static char *
quoted(char *at, char **value)
{
	char *to = *value = at;

	while (*at != '\0' && *at != '"') {
		if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		*to++ = *at++;
	}
	if (*at == '\0')
		return NULL;
	at++;
	*to = '\0';
	return at;
}

static char *
bare(char *at, char **value, bool *more)
{
	size_t n = strcspn(at, "; \t");

	*value = at;
	*more = at[n] != '\0';
	at[n] = '\0';
	return at + n + *more;
}

static char *
skip_blanks(char *at)
{
	return at + strspn(at, "; \t");
}

/* The next parameter at *at; false: no more, or not well formed. */
static bool
next_param(char **at, char **name, char **value)
{
	char *p = skip_blanks(*at);
	size_t n = strcspn(p, "= ;\t");
	bool more;

	if (p[n] != '=' || !parse_is_token(p, n))
		return false;
	*name = p;
	p[n] = '\0';
	p += n + 1;
	*at = *p == '"' ? quoted(p + 1, value) : bare(p, value, &more);
	return *at != NULL;
}

static bool
param(char *params, const char *want, const char **out)
{
	char *name, *value;
	bool found = false;

	while (next_param(&params, &name, &value)) {
		if (strcasecmp(name, want) != 0 || found)
			continue;
		*out = value;
		found = true;
	}
	return found;
}

/* Ends the word that a field's value begins with; returns its parameters. */
static char *
split_params(char *value)
{
	char *end = value + strcspn(value, "; \t");

	if (*end == '\0')
		return end;
	*end = '\0';
	return end + 1;
}

/* ---- begin and end ---- */

/* The line end that a boundary needs has been used already; it is no data. */
static void
borrow(struct multipart *m)
{
	m->matched = m->borrowed = 2;
}

static bool
is_boundary(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > MULTIPART_BOUNDARY_MAX || s[n - 1] == ' ')
		return false;
	for (; *s != '\0'; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

int
multipart_init(struct multipart *m, const char *content_type,
    const struct multipart_calls *calls, void *arg, struct err *err)
{
	auto_str struct str copy = { 0 };
	const char *boundary;
	char *params;

	str_puts(&copy, content_type != NULL ? content_type : "");
	str_putc(&copy, '\0');
	params = split_params(copy.at);
	if (strcasecmp(copy.at, "multipart/form-data") != 0)
		return err_set(err, ERR_INVALID, "not multipart/form-data");
	if (!param(params, "boundary", &boundary) || !is_boundary(boundary))
		return err_set(err, ERR_INVALID, "no good boundary");
	memset(m, 0, sizeof *m);
	m->calls = calls;
	m->arg = arg;
	memcpy(m->boundary, "\r\n--", 4);
	m->boundary_len = 4 + strlen(boundary);
	memcpy(m->boundary + 4, boundary, m->boundary_len - 4);
	/* The first one may be the body's first line. */
	borrow(m);
	return 0;
}

void
multipart_free(struct multipart *m)
{
	str_free(&m->head);
}

int
multipart_finish(struct multipart *m, struct err *err)
{
	if (m->state != EPILOGUE)
		return err_set(err, ERR_INVALID, "multipart: ended early");
	return 0;
}

/* ---- what stands before and between boundaries ---- */

struct bytes {
	const uint8_t *at;
	size_t n;
};

static int
emit(struct multipart *m, const void *bytes, size_t n, struct err *err)
{
	if (m->state == PREAMBLE || n == 0)
		return 0;
	return m->calls->data(m->arg, bytes, n, err);
}

static int
found_boundary(struct multipart *m, struct err *err)
{
	bool in_part = m->state == DATA;

	m->matched = m->borrowed = 0;
	m->state = AFTER;
	return in_part ? m->calls->end(m->arg, err) : 0;
}

/*
 * The boundary's CR is nowhere else in it, so what failed to match can't hold
 * the beginning of another match.
 */
static int
step_data(struct multipart *m, struct bytes *b, struct err *err)
{
	const uint8_t *cr;
	size_t n, from;

	if (m->matched == 0) {
		cr = memchr(b->at, '\r', b->n);
		n = cr != NULL ? (size_t)(cr - b->at) : b->n;
		m->matched = cr != NULL;
		b->at += n + m->matched;
		b->n -= n + m->matched;
		return emit(m, b->at - n - m->matched, n, err);
	}
	while (b->n > 0 && m->matched < m->boundary_len &&
	    *b->at == (uint8_t)m->boundary[m->matched]) {
		m->matched++;
		b->at++;
		b->n--;
	}
	if (m->matched == m->boundary_len)
		return found_boundary(m, err);
	if (b->n == 0)
		return 0;
	from = m->borrowed;
	n = m->matched - from;
	m->matched = m->borrowed = 0;
	return emit(m, m->boundary + from, n, err);
}

static int
step_after(struct multipart *m, struct bytes *b, struct err *err)
{
	uint8_t c = *b->at++;

	b->n--;
	if (c == '-')
		m->state = AFTER_DASH;
	else if (c == '\r')
		m->state = AFTER_LF;
	else if (c != ' ' && c != '\t')
		return err_set(err, ERR_INVALID, "multipart: bad boundary");
	return 0;
}

static int
step_dash(struct multipart *m, struct bytes *b, struct err *err)
{
	if (*b->at++ != '-')
		return err_set(err, ERR_INVALID, "multipart: bad boundary");
	b->n--;
	m->state = EPILOGUE;
	return 0;
}

static int
step_lf(struct multipart *m, struct bytes *b, struct err *err)
{
	if (*b->at++ != '\n')
		return err_set(err, ERR_INVALID, "multipart: bad boundary");
	b->n--;
	if (++m->parts > MULTIPART_PARTS_MAX)
		return err_set(err, ERR_LIMIT, "multipart: too many parts");
	m->state = HEAD;
	return 0;
}

/* ---- heads of parts ---- */

static int
see_line(struct multipart_part *part, char *line, size_t n, struct err *err)
{
	char *name, *value, *params;

	if (!parse_split_field(line, n, &name, &value))
		return err_set(err, ERR_INVALID, "multipart: malformed field");
	if (strcasecmp(name, "content-type") == 0)
		part->type = value;
	if (strcasecmp(name, "content-disposition") != 0)
		return 0;
	params = split_params(value);
	if (strcasecmp(value, "form-data") != 0)
		return err_set(err, ERR_INVALID, "multipart: not form-data");
	while (next_param(&params, &name, &value)) {
		if (strcasecmp(name, "name") == 0)
			part->name = value;
		else if (strcasecmp(name, "filename") == 0)
			part->filename = value;
	}
	return 0;
}

static int
head_done(struct multipart *m, struct err *err)
{
	struct multipart_part part = { .name = "" };
	char *line = m->head.at, *end;
	int r;

	while ((end = strstr(line, "\r\n")) != line) {
		if (see_line(&part, line, (size_t)(end - line), err) < 0)
			return -1;
		line = end + 2;
	}
	m->state = DATA;
	borrow(m);
	r = m->calls->begin(m->arg, &part, err);
	str_cut(&m->head, 0);
	return r;
}

static int
step_head(struct multipart *m, struct bytes *b, struct err *err)
{
	const uint8_t *lf = memchr(b->at, '\n', b->n);
	size_t n = lf != NULL ? (size_t)(lf - b->at) + 1 : b->n;
	const char *end;

	if (n > MULTIPART_HEAD_MAX - m->head.len)
		return err_set(err, ERR_LIMIT, "multipart: head too large");
	if (memchr(b->at, '\0', n) != NULL)
		return err_set(err, ERR_INVALID, "multipart: NUL in a head");
	str_add(&m->head, b->at, n);
	b->at += n;
	b->n -= n;
	if (lf == NULL)
		return 0;
	end = m->head.at + m->head.len;
	if (m->head.len < 2 || end[-2] != '\r')
		return err_set(err, ERR_INVALID, "multipart: bare LF");
	if (m->head.len == 2 || (m->head.len >= 4 && end[-3] == '\n'))
		return head_done(m, err);
	return 0;
}

static int
step_epilogue(struct multipart *m, struct bytes *b, struct err *err)
{
	(void)m;
	(void)err;
	b->n = 0;
	return 0;
}

int
multipart_feed(struct multipart *m, const uint8_t *bytes, size_t n,
    struct err *err)
{
	/* clang-format off */
	static int (*const steps[STATES])(struct multipart *, struct bytes *,
	    struct err *) = {
		[PREAMBLE]   = step_data,
		[DATA]	     = step_data,
		[AFTER]	     = step_after,
		[AFTER_DASH] = step_dash,
		[AFTER_LF]   = step_lf,
		[HEAD]	     = step_head,
		[EPILOGUE]   = step_epilogue,
	};
	/* clang-format on */
	struct bytes b = { bytes, n };

	while (b.n > 0)
		if (steps[m->state](m, &b, err) < 0)
			return -1;
	return 0;
}
