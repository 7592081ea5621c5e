#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "conf/conf.h"
#include "web/auth.h"

struct auth {
	const struct config *conf;
};

struct auth *
auth_new(const struct config *conf)
{
	struct auth *a = xcalloc(1, sizeof *a);

	a->conf = conf;
	return a;
}

void
auth_free(struct auth *a)
{
	free(a);
}

/* ---- tokens ---- */

/* Tells nothing by its time but the number of tenants. */
static bool
same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
	volatile uint8_t differ = 0;

	for (int i = 0; i < SHA256_BYTES; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

static int
tenant_of(const struct config *conf, const char *token)
{
	uint8_t digest[SHA256_BYTES];
	int found = -1;

	sha256(digest, token, strlen(token));
	for (size_t i = 0; i < conf->ntenant; i++)
		if (same(digest, conf->tenant[i].token_sha256))
			found = (int)i;
	return found;
}

int
auth_token(const struct auth *a, const char *value, struct http_who *who,
    struct err *err)
{
	int tenant;

	if (value == NULL || strncasecmp(value, "bearer ", 7) != 0)
		return err_set(err, ERR_INVALID, "Authentication required");
	tenant = tenant_of(a->conf, value + 7);
	if (tenant < 0)
		return err_set(err, ERR_INVALID,
		    "Invalid authentication credentials");
	who->tenant = tenant;
	who->admin = a->conf->tenant[tenant].admin;
	return 0;
}

int
auth_check(const struct auth *a, struct http_req *req, enum route_auth need,
    struct http_who *who, struct err *err)
{
	if (http_req_local(req) || a->conf->ntenant == 0)
		*who = (struct http_who){ .tenant = 0, .admin = true };
	else if (need != AUTH_NONE &&
	    auth_token(a, http_req_header(req, "authorization"), who, err) < 0)
		return -1;
	if (need == AUTH_ADMIN && !who->admin)
		return err_set(err, ERR_DENIED, "for administrators only");
	return 0;
}

/* ---- hosts and origins ---- */

static bool
listed(const struct conf_list *list, const char *s, size_t n)
{
	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->at[i]) == n &&
		    strncasecmp(list->at[i], s, n) == 0)
			return true;
	return false;
}

static bool
is_loopback(const char *name, size_t n)
{
	char text[64];
	struct in_addr v4;
	struct in6_addr v6;

	if (n >= sizeof text)
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	if (text[0] == '[' && text[n - 1] == ']') {
		text[n - 1] = '\0';
		return inet_pton(AF_INET6, text + 1, &v6) == 1 &&
		    IN6_IS_ADDR_LOOPBACK(&v6);
	}
	if (inet_pton(AF_INET, text, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return strcasecmp(text, "localhost") == 0;
}

/* The length of a host's name, without its port. */
static size_t
name_len(const char *host)
{
	size_t n = host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":");

	return host[n] == ']' ? n + 1 : n;
}

bool
auth_host(const struct auth *a, const char *host)
{
	size_t n = name_len(host);
	const char *port = host + n;

	if (*port == ':')
		port += 1 + strspn(port + 1, "0123456789");
	if (n == 0 || *port != '\0')
		return false;
	return is_loopback(host, n) || listed(&a->conf->hosts, host, n);
}

bool
auth_origin(const struct auth *a, const char *origin)
{
	return listed(&a->conf->cors_origins, "*", 1) ||
	    listed(&a->conf->cors_origins, origin, strlen(origin));
}

/* A page that we served ourselves: http://HOST, whatever it is called. */
static bool
is_own_page(const char *origin, const char *host)
{
	const char *at = strstr(origin, "://");

	return at != NULL && strcasecmp(at + 3, host) == 0;
}

/* One of the words of a list with commas. */
static bool
listed_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	const char *at = strstr(list, word);

	return n > 0 && at != NULL && (at == list || at[-1] == ' ') &&
	    (at[n] == ',' || at[n] == '\0');
}

static int
disallow(struct http_req *req, const char *what)
{
	auto_free char *text = xasprintf("Disallowed CORS %s", what);

	http_reply(req, 400, "text/plain; charset=utf-8", text, strlen(text));
	return 1;
}

static int
preflight(const struct auth *a, struct http_req *req, const char *origin)
{
	static const char methods[] =
	    "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
	const char *want =
	    http_req_header(req, "access-control-request-headers");

	if (!auth_origin(a, origin))
		return disallow(req, "origin");
	if (!listed_word(methods,
		http_req_header(req, "access-control-request-method")))
		return disallow(req, "method");
	if (http_req_header(req, "access-control-request-private-network") !=
	    NULL)
		return disallow(req, "private-network");
	http_reply_header(req, "access-control-allow-methods", methods);
	http_reply_header(req, "access-control-max-age", "600");
	if (want != NULL)
		http_reply_header(req, "access-control-allow-headers", want);
	http_reply(req, 200, "text/plain; charset=utf-8", "OK", 2);
	return 1;
}

int
auth_gate(const struct auth *a, struct http_req *req, struct err *err)
{
	const char *host = http_req_header(req, "host");
	const char *origin = http_req_header(req, "origin");

	if (a->conf->ntenant == 0 && !http_req_local(req)) {
		if (host == NULL || !auth_host(a, host))
			return err_set(err, ERR_DENIED,
			    "this host name is not served");
		if (origin != NULL && !auth_origin(a, origin) &&
		    !is_own_page(origin, host))
			return err_set(err, ERR_DENIED,
			    "pages of this origin are not served");
	}
	if (origin != NULL && a->conf->cors_origins.n > 0 &&
	    http_req_method(req) == HTTP_OPTIONS &&
	    http_req_header(req, "access-control-request-method") != NULL)
		return preflight(a, req, origin);
	return 0;
}

/*
 * As the contract has it: "*" unless a cookie came or it is a preflight; where
 * the operator names origins, the one that asked.
 */
void
auth_headers(const struct auth *a, struct http_req *req)
{
	const char *origin = http_req_header(req, "origin");
	bool any = listed(&a->conf->cors_origins, "*", 1) &&
	    http_req_header(req, "cookie") == NULL &&
	    http_req_method(req) != HTTP_OPTIONS;

	if (origin == NULL || !auth_origin(a, origin))
		return;
	http_reply_header(req, "access-control-allow-origin",
	    any ? "*" : origin);
	http_reply_header(req, "access-control-allow-credentials", "true");
	if (!any)
		http_reply_header(req, "vary", "Origin");
}
