#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "web/parse.h"

enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

/* What each byte may be part of. */
static uint8_t kinds[256];

static void
learn_kinds(void)
{
	if (kinds['a'] != 0)
		return;
	for (int c = 0; c < 256; c++) {
		bool alnum = c < 128 && isalnum(c);

		if (alnum || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL))
			kinds[c] |= TOKEN;
		if (c == '\t' || (c >= ' ' && c != 0x7f))
			kinds[c] |= VALUE;
		if (c > ' ' && c < 0x7f && c != '#')
			kinds[c] |= TARGET;
		if (alnum ||
		    (c != 0 && strchr("-._~!$&'()*+,;=:[]%", c) != NULL))
			kinds[c] |= HOST;
	}
}

static bool
all(const char *s, size_t n, uint8_t kind)
{
	for (size_t i = 0; i < n; i++)
		if (!(kinds[(uint8_t)s[i]] & kind))
			return false;
	return true;
}

void
parse_init(struct parse *p)
{
	learn_kinds();
	memset(p, 0, sizeof *p);
}

void
parse_reset(struct parse *p)
{
	struct str head = p->head, tail = p->tail;

	/* A connection that idles keeps no large buffer. */
	if (head.room > 2048)
		str_free(&head);
	str_free(&tail);
	memset(p, 0, sizeof *p);
	p->head = head;
	str_cut(&p->head, 0);
}

void
parse_free(struct parse *p)
{
	str_free(&p->head);
	str_free(&p->tail);
}

bool
parse_begun(const struct parse *p)
{
	return p->state != PARSE_REQUEST || p->head.len > 0;
}

int64_t
parse_left(const struct parse *p)
{
	if (p->state == PARSE_END)
		return 0;
	return p->chunked            ? -1
	    : p->state == PARSE_BODY ? (int64_t)p->left
				     : p->length;
}

const char *
parse_field(const struct parse *p, const char *name)
{
	for (unsigned i = 0; i < p->nfield; i++)
		if (strcasecmp(p->head.at + p->field[i].name, name) == 0)
			return p->head.at + p->field[i].value;
	return NULL;
}

bool
parse_is_token(const char *s, size_t n)
{
	learn_kinds();
	return n > 0 && all(s, n, TOKEN);
}

bool
parse_split_field(char *line, size_t n, char **name, char **value)
{
	char *colon = memchr(line, ':', n), *v, *end = line + n;

	if (colon == NULL || !parse_is_token(line, (size_t)(colon - line)))
		return false;
	for (v = colon + 1; v < end && (*v == ' ' || *v == '\t'); v++)
		;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (!all(v, (size_t)(end - v), VALUE))
		return false;
	*colon = '\0';
	*end = '\0';
	*name = line;
	*value = v;
	return true;
}

static enum parse_event
bad(struct parse *p, int status, const char *why)
{
	p->state = PARSE_FAILED;
	p->status = status;
	p->why = why;
	return PARSE_BAD;
}

/* ---- fields that say how the request is framed ---- */

typedef enum parse_event see_fn(struct parse *, char *value);

static enum parse_event
see_host(struct parse *p, char *value)
{
	if (++p->hosts > 1)
		return bad(p, 400, "more than one Host");
	if (!all(value, strlen(value), HOST))
		return bad(p, 400, "malformed Host");
	return PARSE_MORE;
}

static enum parse_event
see_length(struct parse *p, char *value)
{
	size_t n = strlen(value);

	if (p->has_length)
		return bad(p, 400, "more than one Content-Length");
	if (n == 0 || n > 18 || strspn(value, "0123456789") != n)
		return bad(p, 400, "malformed Content-Length");
	p->has_length = true;
	for (size_t i = 0; i < n; i++)
		p->length = p->length * 10 + (value[i] - '0');
	return PARSE_MORE;
}

static enum parse_event
see_encoding(struct parse *p, char *value)
{
	if (p->chunked)
		return bad(p, 400, "more than one Transfer-Encoding");
	if (strcasecmp(value, "chunked") != 0)
		return bad(p, 400, "unknown Transfer-Encoding");
	p->chunked = true;
	return PARSE_MORE;
}

static enum parse_event
see_connection(struct parse *p, char *value)
{
	for (char *at = value; *at != '\0';) {
		size_t n = strcspn(at, ", \t");

		if (n == 5 && strncasecmp(at, "close", n) == 0)
			p->said_close = true;
		else if (n == 10 && strncasecmp(at, "keep-alive", n) == 0)
			p->said_keep = true;
		else if (n == 7 && strncasecmp(at, "upgrade", n) == 0)
			p->upgrade = true;
		at += n;
		at += strspn(at, ", \t");
	}
	return PARSE_MORE;
}

static enum parse_event
see_expect(struct parse *p, char *value)
{
	if (strcasecmp(value, "100-continue") != 0)
		return bad(p, 417, "unknown expectation");
	p->expect = true;
	return PARSE_MORE;
}

/* Two of these are two opinions: who the caller is, where he comes from. */
static enum parse_event
see_single(struct parse *p, char *value)
{
	(void)value;
	for (unsigned i = 0; i + 1 < p->nfield; i++)
		if (strcasecmp(p->head.at + p->field[i].name,
			p->head.at + p->field[p->nfield - 1].name) == 0)
			return bad(p, 400, "a field that may come once");
	return PARSE_MORE;
}

/* clang-format off */
static const struct {
	const char *name;
	see_fn *see;
} known[] = {
	{ "host",		see_host },
	{ "content-length",	see_length },
	{ "transfer-encoding",	see_encoding },
	{ "connection",		see_connection },
	{ "expect",		see_expect },
	{ "authorization",	see_single },
	{ "origin",		see_single },
	{ "content-type",	see_single },
};
/* clang-format on */

/* ---- the head, line by line ---- */

static enum parse_event
field_line(struct parse *p, char *line, size_t n)
{
	char *name, *value;

	if (line[0] == ' ' || line[0] == '\t')
		return bad(p, 400, "a folded field");
	if (p->nfield == PARSE_FIELDS_MAX)
		return bad(p, 431, "too many fields");
	if (!parse_split_field(line, n, &name, &value))
		return bad(p, 400, "malformed field");
	p->field[p->nfield].name = (uint16_t)(name - p->head.at);
	p->field[p->nfield++].value = (uint16_t)(value - p->head.at);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcasecmp(name, known[i].name) == 0)
			return known[i].see(p, value);
	return PARSE_MORE;
}

static enum parse_event
version(struct parse *p, const char *v)
{
	if (strlen(v) != 8 || strncmp(v, "HTTP/", 5) != 0 ||
	    !isdigit((uint8_t)v[5]) || v[6] != '.' || !isdigit((uint8_t)v[7]))
		return bad(p, 400, "malformed request line");
	if (v[5] != '1')
		return bad(p, 505, "HTTP/1.1 is spoken here");
	p->minor = v[7] == '0' ? 0 : 1;
	return PARSE_MORE;
}

static enum parse_event
request_line(struct parse *p, char *line)
{
	size_t method = strcspn(line, " ");
	char *target = line + method + 1;
	size_t n;

	if (!parse_is_token(line, method) || method > 32 ||
	    line[method] == '\0')
		return bad(p, 400, "malformed request line");
	n = strcspn(target, " ");
	if (n == 0 || target[n] == '\0' || !all(target, n, TARGET))
		return bad(p, 400, "malformed request target");
	if (version(p, target + n + 1) == PARSE_BAD)
		return PARSE_BAD;
	line[method] = '\0';
	target[n] = '\0';
	p->target = (uint16_t)(target - p->head.at);
	p->state = PARSE_FIELDS;
	return PARSE_MORE;
}

/* http://authority/path: the authority must be the Host's, not a second one. */
static enum parse_event
absolute_form(struct parse *p, char *target)
{
	const char *host = parse_field(p, "host");
	char *at = target + (strncasecmp(target, "https", 5) == 0 ? 8 : 7);
	size_t n = strcspn(at, "/?");

	if (n == 0 || at[n] == '?' || host == NULL || strlen(host) != n ||
	    strncasecmp(host, at, n) != 0)
		return bad(p, 400, "request target and Host differ");
	/* An empty path is "/": there is room where the authority was. */
	p->path = at + n;
	if (*p->path == '\0')
		*--p->path = '/';
	return PARSE_MORE;
}

static enum parse_event
target_form(struct parse *p)
{
	char *target = p->head.at + p->target, *query;

	p->path = target;
	if (strncasecmp(target, "http://", 7) == 0 ||
	    strncasecmp(target, "https://", 8) == 0) {
		if (absolute_form(p, target) == PARSE_BAD)
			return PARSE_BAD;
	} else if (target[0] != '/' &&
	    (strcmp(target, "*") != 0 || strcmp(p->method, "OPTIONS") != 0))
		return bad(p, 400, "malformed request target");
	query = strchr(p->path, '?');
	if (query != NULL)
		*query++ = '\0';
	p->query = query != NULL ? query : p->path + strlen(p->path);
	return PARSE_HEAD;
}

static enum parse_event
head_end(struct parse *p)
{
	p->method = p->head.at;
	if (p->hosts == 0 && p->minor > 0)
		return bad(p, 400, "no Host");
	if (p->chunked && p->has_length)
		return bad(p, 400, "both a length and chunks");
	if (p->chunked && p->minor == 0)
		return bad(p, 400, "chunks in HTTP/1.0");
	p->keep = !p->said_close && (p->minor > 0 || p->said_keep);
	p->expect = p->expect && p->minor > 0;
	p->left = (uint64_t)p->length;
	p->state = PARSE_START;
	if (p->chunked)
		p->length = -1;
	return target_form(p);
}

/* One whole line is in, its LF the last byte; the CR becomes a NUL. */
static enum parse_event
head_line(struct parse *p)
{
	char *line = p->head.at + p->line;
	size_t n = p->head.len - p->line - 1;

	if (n == 0 || line[n - 1] != '\r')
		return bad(p, 400, "a line without CR LF");
	line[--n] = '\0';
	if (!all(line, n, VALUE))
		return bad(p, 400, "a control character");
	if (p->state == PARSE_REQUEST && n == 0) {
		/* Some clients end the body before with a line too many. */
		if (p->blank)
			return bad(p, 400, "no request line");
		p->blank = true;
		str_cut(&p->head, 0);
		return PARSE_MORE;
	}
	p->line = p->head.len;
	if (p->state == PARSE_REQUEST)
		return request_line(p, line);
	return n == 0 ? head_end(p) : field_line(p, line, n);
}

struct feed {
	const uint8_t *at;
	size_t n;
	const uint8_t *data;
	size_t ndata;
};

static void
skip(struct feed *f, size_t n)
{
	f->at += n;
	f->n -= n;
}

static enum parse_event
step_head(struct parse *p, struct feed *f)
{
	const uint8_t *lf = memchr(f->at, '\n', f->n);
	size_t n = lf != NULL ? (size_t)(lf - f->at) + 1 : f->n;

	/* Not HTTP at all (a TLS hello): no need to wait for a line. */
	if (p->head.len == 0 && *f->at != '\r' && !(kinds[*f->at] & TOKEN))
		return bad(p, 400, "malformed request line");
	if (n > PARSE_HEAD_MAX - p->head.len)
		return p->state == PARSE_REQUEST
		    ? bad(p, 414, "request line too long")
		    : bad(p, 431, "header too large");
	str_add(&p->head, f->at, n);
	skip(f, n);
	return lf != NULL ? head_line(p) : PARSE_MORE;
}

/* ---- the body ---- */

static enum parse_event
step_start(struct parse *p, struct feed *f)
{
	(void)f;
	p->state = p->chunked ? PARSE_SIZE
	    : p->left > 0     ? PARSE_BODY
			      : PARSE_END;
	return PARSE_MORE;
}

static enum parse_event
step_data(struct parse *p, struct feed *f)
{
	size_t n = f->n < p->left ? f->n : (size_t)p->left;

	f->data = f->at;
	f->ndata = n;
	skip(f, n);
	p->left -= n;
	if (p->left == 0)
		p->state = p->chunked ? PARSE_CHUNK_CR : PARSE_END;
	return PARSE_DATA;
}

static enum parse_event
step_size(struct parse *p, struct feed *f)
{
	uint8_t c = *f->at;

	skip(f, 1);
	if (isxdigit(c) && p->digits < 15) {
		p->left = p->left * 16 +
		    (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
		p->digits++;
		return PARSE_MORE;
	}
	if (p->digits == 0 || (c != '\r' && c != ';'))
		return bad(p, 400, "malformed chunk size");
	p->ext = 0;
	p->state = c == '\r' ? PARSE_SIZE_LF : PARSE_EXT;
	return PARSE_MORE;
}

static enum parse_event
step_ext(struct parse *p, struct feed *f)
{
	uint8_t c = *f->at;

	skip(f, 1);
	if (c == '\r') {
		p->state = PARSE_SIZE_LF;
		return PARSE_MORE;
	}
	if (!(kinds[c] & VALUE))
		return bad(p, 400, "malformed chunk extension");
	if (++p->ext > PARSE_LINE_MAX || ++p->extra > PARSE_EXTRA_MAX)
		return bad(p, 400, "chunk extensions too long");
	return PARSE_MORE;
}

static enum parse_event
expect_byte(struct parse *p, struct feed *f, uint8_t c, enum parse_state next)
{
	if (*f->at != c)
		return bad(p, 400, "malformed chunk");
	skip(f, 1);
	p->state = next;
	return PARSE_MORE;
}

static enum parse_event
step_size_lf(struct parse *p, struct feed *f)
{
	p->digits = 0;
	return expect_byte(p, f, '\n',
	    p->left > 0 ? PARSE_CHUNK : PARSE_TRAILER);
}

static enum parse_event
step_chunk_cr(struct parse *p, struct feed *f)
{
	return expect_byte(p, f, '\r', PARSE_CHUNK_LF);
}

static enum parse_event
step_chunk_lf(struct parse *p, struct feed *f)
{
	return expect_byte(p, f, '\n', PARSE_SIZE);
}

/* Trailers are checked and dropped: nothing here may depend on them. */
static enum parse_event
step_trailer(struct parse *p, struct feed *f)
{
	const uint8_t *lf = memchr(f->at, '\n', f->n);
	size_t n = lf != NULL ? (size_t)(lf - f->at) + 1 : f->n;
	char *name, *value;

	if (n > PARSE_EXTRA_MAX - p->extra)
		return bad(p, 400, "trailers too long");
	p->extra += n;
	str_add(&p->tail, f->at, n);
	skip(f, n);
	if (lf == NULL)
		return PARSE_MORE;
	n = p->tail.len - 1;
	if (n == 0 || p->tail.at[n - 1] != '\r')
		return bad(p, 400, "a line without CR LF");
	if (n == 1)
		p->state = PARSE_END;
	else if (!parse_split_field(p->tail.at, n - 1, &name, &value))
		return bad(p, 400, "malformed trailer");
	str_cut(&p->tail, 0);
	return PARSE_MORE;
}

typedef enum parse_event step_fn(struct parse *, struct feed *);

/* clang-format off */
static step_fn *const steps[PARSE_STATES] = {
	[PARSE_REQUEST]	 = step_head,
	[PARSE_FIELDS]	 = step_head,
	[PARSE_START]	 = step_start,
	[PARSE_BODY]	 = step_data,
	[PARSE_SIZE]	 = step_size,
	[PARSE_EXT]	 = step_ext,
	[PARSE_SIZE_LF]	 = step_size_lf,
	[PARSE_CHUNK]	 = step_data,
	[PARSE_CHUNK_CR] = step_chunk_cr,
	[PARSE_CHUNK_LF] = step_chunk_lf,
	[PARSE_TRAILER]	 = step_trailer,
};
/* clang-format on */

enum parse_event
parse_feed(struct parse *p, const uint8_t *bytes, size_t n, size_t *used,
    const uint8_t **data, size_t *ndata)
{
	struct feed f = { .at = bytes, .n = n };
	enum parse_event ev = PARSE_MORE;

	/* The end needs no byte: a request without a body has it at once. */
	while (ev == PARSE_MORE) {
		if (p->state == PARSE_END)
			ev = PARSE_DONE;
		else if (p->state == PARSE_FAILED)
			ev = PARSE_BAD;
		else if (f.n == 0 && p->state != PARSE_START)
			break;
		else
			ev = steps[p->state](p, &f);
	}
	*used = n - f.n;
	*data = f.data;
	*ndata = f.ndata;
	return ev;
}
