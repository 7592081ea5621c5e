#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "config.h"
#include "model/post.h"
#include "wire/loop.h"

#define CONNECT_S 10L
#define CONNECTIONS 64L /* that wait to be used again */

struct poster {
	struct loop *loop;
	CURLM *multi;
	struct watch *timer;
};

struct sock {
	struct poster *of;
	curl_socket_t fd;
	struct watch *watch;
	int what;
};

struct post {
	struct poster *of;
	CURL *easy;
	struct curl_slist *header;
	char *body;
	const struct post_ops *ops;
	void *arg;
	bool headed, paused, refused;
	char text[CURL_ERROR_SIZE];
};

/* ---- the loop's side ---- */

static void
post_free(struct post *p)
{
	curl_multi_remove_handle(p->of->multi, p->easy);
	curl_easy_cleanup(p->easy);
	curl_slist_free_all(p->header);
	free(p->body);
	free(p);
}

/* clang-format off */
static const struct {
	CURLcode code;
	enum err_code is;
} codes[] = {
	{ CURLE_OPERATION_TIMEDOUT,	ERR_TIMEOUT },
	{ CURLE_URL_MALFORMAT,		ERR_INVALID },
	{ CURLE_UNSUPPORTED_PROTOCOL,	ERR_INVALID },
	{ CURLE_COULDNT_RESOLVE_HOST,	ERR_MISSING },
	{ CURLE_COULDNT_RESOLVE_PROXY,	ERR_MISSING },
	{ CURLE_COULDNT_CONNECT,	ERR_BUSY },
	{ CURLE_PARTIAL_FILE,		ERR_PROTO },
	{ CURLE_RECV_ERROR,		ERR_PROTO },
	{ CURLE_SEND_ERROR,		ERR_PROTO },
	{ CURLE_GOT_NOTHING,		ERR_PROTO },
};
/* clang-format on */

static void
explain(const struct post *p, CURLcode code, struct err *err)
{
	const char *text =
	    *p->text != '\0' ? p->text : curl_easy_strerror(code);

	if (p->refused) {
		err_set(err, ERR_DENIED,
		    "its address is not one of the public internet");
		return;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == code) {
			err_set(err, codes[i].is, "%.200s", text);
			return;
		}
	err_set(err, ERR_SYS, "%.200s", text);
	err->sys = 0;
}

static void
head_once(struct post *p)
{
	long status = 0;
	curl_off_t after = 0;

	if (p->headed)
		return;
	p->headed = true;
	curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(p->easy, CURLINFO_RETRY_AFTER, &after);
	p->ops->head(p->arg, (unsigned)status,
	    after > 0 && after < 86400 ? (unsigned)after : 0);
}

static void
finished(struct poster *of)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(of->multi, &left)) != NULL) {
		CURLcode code = m->data.result;
		struct post *p = NULL;
		const struct post_ops *ops;
		struct err err;
		void *arg;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &p);
		if (code == CURLE_OK)
			head_once(p);
		else
			explain(p, code, &err);
		ops = p->ops;
		arg = p->arg;
		post_free(p);
		ops->done(arg, code == CURLE_OK ? NULL : &err);
	}
}

static void
act(struct poster *of, curl_socket_t fd, int what)
{
	int running;

	curl_multi_socket_action(of->multi, fd, what, &running);
	finished(of);
}

static void
on_socket(void *arg, int what)
{
	struct sock *s = arg;

	act(s->of, s->fd,
	    (what & WATCH_READ ? CURL_CSELECT_IN : 0) |
		(what & WATCH_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(void *arg, int what)
{
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *data)
{
	struct poster *of = arg;
	struct sock *s = data;
	int bits = (what & CURL_POLL_IN ? WATCH_READ : 0) |
	    (what & CURL_POLL_OUT ? WATCH_WRITE : 0);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s != NULL)
			watch_free(s->watch);
		free(s);
		return 0;
	}
	if (s == NULL) {
		s = xcalloc(1, sizeof *s);
		s->of = of;
		s->fd = fd;
		curl_multi_assign(of->multi, fd, s);
	} else if (s->what == bits) {
		return 0;
	}
	watch_free(s->watch);
	s->what = bits;
	s->watch =
	    bits != 0 ? watch_fd(of->loop, fd, bits, on_socket, s) : NULL;
	return 0;
}

static int
want_timer(CURLM *multi, long ms, void *arg)
{
	struct poster *of = arg;

	(void)multi;
	if (ms < 0)
		watch_stop(of->timer);
	else
		watch_arm(of->timer, ms);
	return 0;
}

struct poster *
poster_new(struct loop *loop)
{
	struct poster *p = xcalloc(1, sizeof *p);

	curl_global_init(CURL_GLOBAL_DEFAULT);
	p->loop = loop;
	p->multi = curl_multi_init();
	if (p->multi == NULL)
		abort();
	p->timer = watch_timer(loop, on_timer, p);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS);
	return p;
}

void
poster_free(struct poster *p)
{
	curl_multi_cleanup(p->multi);
	watch_free(p->timer);
	free(p);
}

/* ---- addresses ---- */

struct net {
	uint8_t at[16];
	unsigned bits;
};

/* clang-format off */
/* What is not the internet: RFC 6890 and what came later. */
static const struct net nets4[] = {
	{ { 0 }, 8 }, { { 10 }, 8 }, { { 100, 64 }, 10 }, { { 127 }, 8 },
	{ { 169, 254 }, 16 }, { { 172, 16 }, 12 }, { { 192, 0, 0 }, 24 },
	{ { 192, 0, 2 }, 24 }, { { 192, 88, 99 }, 24 }, { { 192, 168 }, 16 },
	{ { 198, 18 }, 15 }, { { 198, 51, 100 }, 24 }, { { 203, 0, 113 }, 24 },
	{ { 224 }, 3 },
};
static const struct net nets6[] = {	/* public: what 2000::/3 has else */
	{ { 0x20, 0x01, 0x00 }, 23 },	/* protocol assignments, Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },	/* documentation */
	{ { 0x20, 0x02 }, 16 },		/* 6to4: an IPv4 address in disguise */
	{ { 0x3f, 0xff }, 20 },		/* documentation */
};
/* clang-format on */

static bool
in_net(const struct net *n, const uint8_t *at)
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;

	return memcmp(n->at, at, whole) == 0 &&
	    (rest == 0 || (n->at[whole] ^ at[whole]) >> (8 - rest) == 0);
}

static bool
public4(const uint8_t *at)
{
	for (size_t i = 0; i < sizeof nets4 / sizeof *nets4; i++)
		if (in_net(&nets4[i], at))
			return false;
	return true;
}

static bool
public6(const uint8_t *at)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(at, mapped, sizeof mapped) == 0)
		return public4(at + 12);
	if (at[0] >> 5 != 1) /* not of 2000::/3 */
		return false;
	for (size_t i = 0; i < sizeof nets6 / sizeof *nets6; i++)
		if (in_net(&nets6[i], at))
			return false;
	return true;
}

bool
post_is_public(const void *sockaddr)
{
	const struct sockaddr *sa = sockaddr;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof in);
		return public4((const uint8_t *)&in.sin_addr);
	}
	if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof in6);
		return public6((const uint8_t *)&in6.sin6_addr);
	}
	return false;
}

/* The very address that is about to be connected to: no name is asked twice. */
static curl_socket_t
open_public(void *arg, curlsocktype type, struct curl_sockaddr *at)
{
	struct post *p = arg;

	(void)type;
	if (!post_is_public(&at->addr)) {
		p->refused = true;
		return CURL_SOCKET_BAD;
	}
	p->refused = false;
	return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

/* ---- one post ---- */

static size_t
on_bytes(char *bytes, size_t size, size_t n, void *arg)
{
	struct post *p = arg;

	head_once(p);
	if (p->ops->bytes(p->arg, bytes, size * n))
		return size * n;
	p->paused = true;
	return CURL_WRITEFUNC_PAUSE;
}

static void
add_header(struct post *p, const char *text)
{
	struct curl_slist *l = curl_slist_append(p->header, text);

	if (l == NULL)
		abort(); /* out of memory, as xmalloc */
	p->header = l;
}

static CURLcode
options(struct post *p, const struct post_want *w)
{
	CURL *e = p->easy;
	CURLcode r = CURLE_OK;
	const char *proxy = w->proxy;

	if (w->public_only || (proxy != NULL && strcmp(proxy, "none") == 0))
		proxy = "";
#define SET(option, value)                                                     \
	do {                                                                   \
		if (r == CURLE_OK)                                             \
			r = curl_easy_setopt(e, option, value);                \
	} while (0)
	SET(CURLOPT_PRIVATE, p);
	SET(CURLOPT_ERRORBUFFER, p->text);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_URL, w->url);
	SET(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_USERAGENT, "hutch/" PACKAGE_VERSION);
	SET(CURLOPT_POSTFIELDS, p->body);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)w->nbody);
	SET(CURLOPT_HTTPHEADER, p->header);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	SET(CURLOPT_TIMEOUT, (long)w->timeout_s);
	SET(CURLOPT_LOW_SPEED_LIMIT, w->stall_s > 0 ? 1L : 0L);
	SET(CURLOPT_LOW_SPEED_TIME, (long)w->stall_s);
	SET(CURLOPT_WRITEFUNCTION, on_bytes);
	SET(CURLOPT_WRITEDATA, p);
	if (proxy != NULL)
		SET(CURLOPT_PROXY, proxy);
	if (w->public_only) {
		SET(CURLOPT_OPENSOCKETFUNCTION, open_public);
		SET(CURLOPT_OPENSOCKETDATA, p);
		SET(CURLOPT_FRESH_CONNECT, 1L);
		SET(CURLOPT_FORBID_REUSE, 1L);
	}
#undef SET
	return r;
}

struct post *
post_start(struct poster *of, const struct post_want *w, struct err *err)
{
	struct post *p = xcalloc(1, sizeof *p);
	CURLcode r;

	p->of = of;
	p->ops = w->ops;
	p->arg = w->arg;
	p->body = w->body;
	p->easy = curl_easy_init();
	if (p->easy == NULL)
		abort();
	add_header(p, "Content-Type: application/json");
	add_header(p, "Expect:");
	for (const char *const *h = w->header; *h != NULL; h++)
		add_header(p, *h);
	r = options(p, w);
	if (r == CURLE_OK &&
	    curl_multi_add_handle(of->multi, p->easy) == CURLM_OK)
		return p;
	err_set(err, ERR_INVALID, "request not made: %.120s",
	    curl_easy_strerror(r));
	post_free(p);
	return NULL;
}

void
post_room(struct post *p)
{
	if (!p->paused)
		return;
	p->paused = false;
	curl_easy_pause(p->easy, CURLPAUSE_CONT);
}

void
post_cancel(struct post *p)
{
	post_free(p);
}
