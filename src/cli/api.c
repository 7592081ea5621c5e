#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "config.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"

#define ANSWER_MAX (64u << 20)
#define REASON_MAX (64u << 10)
#define HEAD_MAX (16u << 10)
enum { CONNECT_MS = 10000, CALL_MS = 180000, STALL_S = 300, HEAD_MS = 90000 };

struct api {
	CURL *curl;
	char *socket, *base, *token;
	char why[CURL_ERROR_SIZE];
};

struct tunnel {
	CURL *curl;
	int fd;
	struct str early; /* came with the head */
};

/* One request on its way: where its bytes come from and go to. */
struct flight {
	struct api *api;
	const struct api_stream *stream; /* NULL: collect */
	struct str answer; /* collected, or the body of a failure */
	struct err *err;   /* of a callback that gave up */
	bool gave_up;
};

struct api *
api_open(const struct api_where *w)
{
	struct api *a = xcalloc(1, sizeof *a);

	curl_global_init(CURL_GLOBAL_DEFAULT);
	a->curl = curl_easy_init();
	if (a->curl == NULL)
		abort();
	a->socket = w->url == NULL ? xstrdup(w->socket) : NULL;
	a->base = xstrdup(w->url != NULL ? w->url : "http://localhost");
	a->token = w->token != NULL ? xstrdup(w->token) : NULL;
	return a;
}

void
api_close(struct api *a)
{
	if (a == NULL)
		return;
	curl_easy_cleanup(a->curl);
	free(a->socket);
	free(a->base);
	free(a->token);
	free(a);
}

char *
api_quote(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-._~";
	struct str out = { 0 };

	for (; *text != '\0'; text++) {
		if (strchr(plain, *text) != NULL)
			str_putc(&out, *text);
		else
			str_printf(&out, "%%%02X", (unsigned char)*text);
	}
	return str_take(&out);
}

/* ---- failures ---- */

static enum err_code
code_of(long status)
{
	static const struct {
		long status;
		enum err_code code;
	} known[] = {
		{ 400, ERR_INVALID },
		{ 401, ERR_DENIED },
		{ 403, ERR_DENIED },
		{ 404, ERR_MISSING },
		{ 405, ERR_DENIED },
		{ 408, ERR_TIMEOUT },
		{ 409, ERR_BUSY },
		{ 413, ERR_LIMIT },
		{ 422, ERR_INVALID },
		{ 429, ERR_LIMIT },
		{ 503, ERR_BUSY },
		{ 504, ERR_TIMEOUT },
		{ 507, ERR_LIMIT },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].status == status)
			return known[i].code;
	return ERR_PROTO;
}

int
api_failure(long status, const char *body, size_t n, struct err *err)
{
	json_t *json = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
	const char *detail = json_string_value(json_object_get(json, "detail"));

	if (detail != NULL && status == 401)
		err_set(err, ERR_DENIED, "%s (HUTCH_TOKEN holds the token)",
		    detail);
	else if (detail != NULL)
		err_set(err, code_of(status), "%s", detail);
	else
		err_set(err, code_of(status),
		    "the daemon answers %ld and gives no reason", status);
	json_decref(json);
	return -1;
}

static int
unreachable(const struct api *a, CURL *curl, struct err *err)
{
	long sys = 0;

	curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &sys);
	if (a->socket == NULL)
		return err_set(err, ERR_MISSING, "no daemon at %s: %s", a->base,
		    a->why);
	if (sys == EACCES || (access(a->socket, F_OK) < 0 && errno == EACCES))
		return err_set(err, ERR_DENIED,
		    "%s: permission denied; be root or a member of the group "
		    "hutch (then log in again)",
		    a->socket);
	return err_set(err, ERR_MISSING,
	    "no daemon answers at %s; start one (systemctl start hutch, or "
	    "hutchd) or name another with --root",
	    a->socket);
}

static int
curl_failed(const struct api *a, CURL *curl, CURLcode code, struct err *err)
{
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		return unreachable(a, curl, err);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return err_set(err, ERR_TIMEOUT,
		    "the daemon does not answer: %s", a->why);
	return err_set(err, ERR_PROTO, "the connection broke: %s",
	    a->why[0] != '\0' ? a->why : curl_easy_strerror(code));
}

/* ---- one request ---- */

static long
status_of(CURL *curl)
{
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t
on_answer(char *bytes, size_t one, size_t n, void *arg)
{
	struct flight *f = arg;
	bool failed = status_of(f->api->curl) >= 400;

	(void)one;
	if (f->stream != NULL && !failed) {
		if (f->stream->write(f->stream->arg, bytes, n, f->err) == 0)
			return n;
		f->gave_up = true;
		return n + 1; /* anything but n */
	}
	if (f->answer.len + n > (failed ? REASON_MAX : ANSWER_MAX)) {
		err_set(f->err, ERR_LIMIT, "the daemon's answer is too long");
		f->gave_up = true;
		return n + 1;
	}
	str_add(&f->answer, bytes, n);
	return n;
}

static size_t
on_body(char *buf, size_t one, size_t n, void *arg)
{
	struct flight *f = arg;
	ssize_t got = f->stream->read(f->stream->arg, buf, one * n, f->err);

	if (got >= 0)
		return (size_t)got;
	f->gave_up = true;
	return CURL_READFUNC_ABORT;
}

static void
common(struct api *a, CURL *c, const char *url)
{
	curl_easy_reset(c);
	a->why[0] = '\0';
	curl_easy_setopt(c, CURLOPT_URL, url);
	if (a->socket != NULL)
		curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, a->socket);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, a->why);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(c, CURLOPT_USERAGENT,
	    PACKAGE_NAME "/" PACKAGE_VERSION);
	/* The socket is the daemon: no proxy of the environment between. */
	if (a->socket != NULL)
		curl_easy_setopt(c, CURLOPT_PROXY, "");
}

static struct curl_slist *
headers(const struct api *a, const char *type)
{
	struct curl_slist *list = NULL;
	auto_str struct str h = { 0 };

	if (type != NULL) {
		str_printf(&h, "Content-Type: %s", type);
		list = curl_slist_append(list, h.at);
	}
	if (a->token != NULL) {
		str_cut(&h, 0);
		str_printf(&h, "Authorization: Bearer %s", a->token);
		list = curl_slist_append(list, h.at);
	}
	return list;
}

static int
fly(struct flight *f, struct curl_slist *list, struct err *err)
{
	CURL *c = f->api->curl;
	CURLcode code;
	long status;

	curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
	f->err = err;
	code = curl_easy_perform(c);
	curl_slist_free_all(list);
	status = status_of(c);
	/* A refused upload may break while we still send: the reason counts. */
	if (status >= 400 && !f->gave_up)
		return api_failure(status, str_text(&f->answer), f->answer.len,
		    err);
	if (f->gave_up)
		return -1; /* the callback has said why */
	return code == CURLE_OK ? 0 : curl_failed(f->api, c, code, err);
}

static char *
url_of(const struct api *a, const char *path)
{
	return xasprintf("%s/api/v1/%s", a->base, path);
}

int
api_call(struct api *a, const char *method, const char *path, json_t *body,
    json_t **answer, struct err *err)
{
	auto_free char *url = url_of(a, path), *text = NULL;
	struct flight f = { .api = a };
	json_error_t je;
	int r;

	common(a, a->curl, url);
	curl_easy_setopt(a->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(a->curl, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
	if (body != NULL) {
		text = json_dumps(body, JSON_COMPACT);
		if (text == NULL)
			return err_set(err, ERR_INVALID,
			    "the request is not valid UTF-8");
		curl_easy_setopt(a->curl, CURLOPT_POSTFIELDS, text);
	} else if (strcmp(method, "GET") != 0)
		curl_easy_setopt(a->curl, CURLOPT_POSTFIELDS, "");
	r = fly(&f, headers(a, body != NULL ? "application/json" : NULL), err);
	if (r == 0 && answer != NULL) {
		*answer = NULL;
		if (f.answer.len > 0)
			*answer = json_loadb(f.answer.at, f.answer.len, 0, &je);
		if (f.answer.len > 0 && *answer == NULL)
			r = err_set(err, ERR_PROTO,
			    "the daemon's answer is no JSON: %s", je.text);
	}
	str_free(&f.answer);
	return r;
}

static int
on_second(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct flight *f = arg;

	(void)a, (void)b, (void)c, (void)d;
	if (!f->stream->stop(f->stream->arg))
		return 0;
	err_set(f->err, ERR_BUSY, "given up");
	f->gave_up = true;
	return 1;
}

int
api_stream(struct api *a, const struct api_stream *s, struct err *err)
{
	auto_free char *url = url_of(a, s->path);
	struct flight f = { .api = a, .stream = s };
	int r;

	common(a, a->curl, url);
	if (s->read != NULL) {
		curl_easy_setopt(a->curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(a->curl, CURLOPT_READFUNCTION, on_body);
		curl_easy_setopt(a->curl, CURLOPT_READDATA, &f);
		curl_easy_setopt(a->curl, CURLOPT_INFILESIZE_LARGE,
		    (curl_off_t)s->length);
	}
	if (s->stop != NULL) {
		curl_easy_setopt(a->curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(a->curl, CURLOPT_XFERINFOFUNCTION, on_second);
		curl_easy_setopt(a->curl, CURLOPT_XFERINFODATA, &f);
	}
	curl_easy_setopt(a->curl, CURLOPT_CUSTOMREQUEST, s->method);
	curl_easy_setopt(a->curl, CURLOPT_LOW_SPEED_LIMIT, s->idle ? 0L : 1L);
	curl_easy_setopt(a->curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
	r = fly(&f,
	    headers(a,
		s->read == NULL       ? NULL
		    : s->type != NULL ? s->type
				      : "application/octet-stream"),
	    err);
	str_free(&f.answer);
	return r;
}

/* ---- bytes both ways ---- */

ssize_t
api_send(struct tunnel *t, const void *bytes, size_t n, struct err *err)
{
	size_t sent = 0;
	CURLcode code = curl_easy_send(t->curl, bytes, n, &sent);

	if (code == CURLE_OK)
		return (ssize_t)sent;
	if (code == CURLE_AGAIN)
		return err_set(err, ERR_BUSY, "not now");
	return err_set(err, ERR_PROTO, "the connection broke: %s",
	    curl_easy_strerror(code));
}

ssize_t
api_recv(struct tunnel *t, void *buf, size_t n, struct err *err)
{
	size_t got = 0;
	CURLcode code;

	if (t->early.len > 0) {
		got = n < t->early.len ? n : t->early.len;
		memcpy(buf, t->early.at, got);
		str_drop(&t->early, got);
		return (ssize_t)got;
	}
	code = curl_easy_recv(t->curl, buf, n, &got);
	if (code == CURLE_OK)
		return (ssize_t)got;
	if (code == CURLE_AGAIN)
		return err_set(err, ERR_BUSY, "not now");
	return err_set(err, ERR_PROTO, "the connection broke: %s",
	    curl_easy_strerror(code));
}

int
api_tunnel_fd(const struct tunnel *t)
{
	return t->fd;
}

void
api_tunnel_free(struct tunnel *t)
{
	if (t == NULL)
		return;
	curl_easy_cleanup(t->curl);
	str_free(&t->early);
	free(t);
}

static int
wait_for(const struct tunnel *t, short what, int64_t deadline, struct err *err)
{
	struct pollfd p = { .fd = t->fd, .events = what };
	int r;

	do
		r = poll(&p, 1, (int)clock_left(deadline));
	while (r < 0 && errno == EINTR);
	if (r > 0)
		return 0;
	return err_set(err, ERR_TIMEOUT, "the daemon does not answer");
}

static int
send_all(struct tunnel *t, const struct str *s, int64_t deadline,
    struct err *err)
{
	for (size_t at = 0; at < s->len;) {
		ssize_t n = api_send(t, s->at + at, s->len - at, err);

		if (n >= 0)
			at += (size_t)n;
		else if (err->code != ERR_BUSY ||
		    wait_for(t, POLLOUT, deadline, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds to head until it holds `want`; *at is where that ends. */
static int
read_until(struct tunnel *t, struct str *head, const char *want, size_t *at,
    int64_t deadline, struct err *err)
{
	char buf[4096];

	for (;;) {
		const char *found = strstr(str_text(head), want);
		ssize_t n;

		if (found != NULL) {
			*at = (size_t)(found - head->at) + strlen(want);
			return 0;
		}
		if (head->len > HEAD_MAX)
			return err_set(err, ERR_PROTO, "the answer is no HTTP");
		n = api_recv(t, buf, sizeof buf, err);
		if (n > 0)
			str_add(head, buf, (size_t)n);
		else if (n == 0)
			return err_set(err, ERR_PROTO,
			    "the daemon closed the connection");
		else if (err->code != ERR_BUSY ||
		    wait_for(t, POLLIN, deadline, err) < 0)
			return -1;
	}
}

/* Not 101: the reason is a JSON object right after the head. */
static int
refused(struct tunnel *t, struct str *head, size_t at, int64_t deadline,
    struct err *err)
{
	long status = strtol(head->at + strcspn(head->at, " "), NULL, 10);
	auto_str struct str body = { 0 };
	size_t end = 0;

	str_add(&body, head->at + at, head->len - at);
	if (read_until(t, &body, "}", &end, deadline, err) < 0)
		end = 0;
	return api_failure(status, str_text(&body), end, err);
}

static int
shake_hands(struct tunnel *t, struct api *a, const char *path,
    const char *protocol, struct err *err)
{
	int64_t deadline = clock_ms() + HEAD_MS;
	auto_str struct str s = { 0 };
	const char *host = strstr(a->base, "://") + 3;
	size_t at;

	str_printf(&s,
	    "GET /api/v1/%s HTTP/1.1\r\nHost: %.*s\r\nConnection: Upgrade\r\n"
	    "Upgrade: %s\r\n",
	    path, (int)strcspn(host, "/"), host, protocol);
	if (a->token != NULL)
		str_printf(&s, "Authorization: Bearer %s\r\n", a->token);
	str_puts(&s, "\r\n");
	if (send_all(t, &s, deadline, err) < 0)
		return -1;
	str_cut(&s, 0);
	if (read_until(t, &s, "\r\n\r\n", &at, deadline, err) < 0)
		return -1;
	if (strncmp(s.at, "HTTP/1.1 101", 12) != 0)
		return refused(t, &s, at, deadline, err);
	str_add(&t->early, s.at + at, s.len - at);
	return 0;
}

struct tunnel *
api_tunnel(struct api *a, const char *path, const char *protocol,
    struct err *err)
{
	struct tunnel *t = xcalloc(1, sizeof *t);
	curl_socket_t fd = CURL_SOCKET_BAD;
	CURLcode code;

	t->curl = curl_easy_init();
	if (t->curl == NULL)
		abort();
	common(a, t->curl, a->base);
	curl_easy_setopt(t->curl, CURLOPT_CONNECT_ONLY, 1L);
	code = curl_easy_perform(t->curl);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(t->curl, CURLINFO_ACTIVESOCKET, &fd);
	t->fd = fd;
	if (code != CURLE_OK)
		curl_failed(a, t->curl, code, err);
	else if (shake_hands(t, a, path, protocol, err) == 0)
		return t;
	api_tunnel_free(t);
	return NULL;
}
