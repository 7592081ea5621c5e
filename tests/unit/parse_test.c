#include <stdio.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"
#include "web/parse.h"

/* What a connection would see: events as text, pieces of a body joined. */
static void
trace(struct str *out, const char *in, size_t n, size_t piece)
{
	struct parse p;
	size_t at = 0, used, ndata;
	const uint8_t *data;
	bool in_data = false, over = false;

	parse_init(&p);
	while (!over) {
		size_t take = n - at < piece ? n - at : piece;
		enum parse_event ev = parse_feed(&p, (const uint8_t *)in + at,
		    take, &used, &data, &ndata);

		at += used;
		if (in_data && ev != PARSE_DATA && ev != PARSE_MORE) {
			str_puts(out, "]\n");
			in_data = false;
		}
		switch (ev) {
		case PARSE_MORE:
			over = at == n;
			break;
		case PARSE_HEAD:
			str_printf(out, "%s %s ? %s 1.%d %lld%s%s%s\n",
			    p.method, p.path, p.query, p.minor,
			    (long long)p.length, p.keep ? " keep" : "",
			    p.expect ? " expect" : "",
			    p.upgrade ? " upgrade" : "");
			for (unsigned i = 0; i < p.nfield; i++)
				str_printf(out, " %s=%s\n",
				    p.head.at + p.field[i].name,
				    p.head.at + p.field[i].value);
			break;
		case PARSE_DATA:
			if (!in_data)
				str_puts(out, "[");
			in_data = true;
			str_add(out, data, ndata);
			break;
		case PARSE_DONE:
			str_puts(out, "done\n");
			parse_reset(&p);
			break;
		case PARSE_BAD:
			str_printf(out, "bad %d %s\n", p.status, p.why);
			over = true;
			break;
		}
	}
	if (in_data)
		str_puts(out, "...");
	parse_free(&p);
}

/* The same whole and in pieces of every size up to 17. */
static void
expect_trace(const char *in, size_t n, const char *want)
{
	auto_str struct str whole = { 0 };

	trace(&whole, in, n, n > 0 ? n : 1);
	if (want != NULL)
		assert_string_equal(str_text(&whole), want);
	for (size_t piece = 1; piece < 18; piece++) {
		auto_str struct str cut = { 0 };

		trace(&cut, in, n, piece);
		assert_string_equal(str_text(&cut), str_text(&whole));
	}
}

static void
expect_text(const char *in, const char *want)
{
	expect_trace(in, strlen(in), want);
}

#define H "Host: h\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* clang-format off */
static const struct {
	const char *name, *in;
	int status;
} bad[] = {
	{ "two lengths that differ", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400 },
	{ "two equal lengths",	POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400 },
	{ "a list of lengths",	POST "Content-Length: 5, 5\r\n\r\nhello", 400 },
	{ "a signed length",	POST "Content-Length: +3\r\n\r\nabc", 400 },
	{ "a negative length",	POST "Content-Length: -3\r\n\r\nabc", 400 },
	{ "a length in hex",	POST "Content-Length: 0x3\r\n\r\nabc", 400 },
	{ "an empty length",	POST "Content-Length:\r\n\r\n", 400 },
	{ "a length with a blank", POST "Content-Length: 1 1\r\n\r\n", 400 },
	{ "a length too large",	POST "Content-Length: 99999999999999999999\r\n\r\n", 400 },
	{ "xchunked",		POST "Transfer-Encoding: xchunked\r\n\r\n", 400 },
	{ "chunked twice",	POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "chunked, chunked",	POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 400 },
	{ "gzip, chunked",	POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400 },
	{ "identity",		POST "Transfer-Encoding: identity\r\n\r\n", 400 },
	{ "quoted chunked",	POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 400 },
	{ "chunked;q=1",	POST "Transfer-Encoding: chunked;q=1\r\n\r\n", 400 },
	{ "chunked and VT",	POST "Transfer-Encoding: \vchunked\r\n\r\n", 400 },
	{ "length and chunked",	POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
	{ "chunked and length",	POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400 },
	{ "chunked in 1.0",	"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
	{ "blank before colon",	GET H "Content-Length : 3\r\n\r\n", 400 },
	{ "tab before colon",	GET H "A\t: 3\r\n\r\n", 400 },
	{ "an empty name",	GET H ": 3\r\n\r\n", 400 },
	{ "no colon",		GET H "nonsense\r\n\r\n", 400 },
	{ "a name with a slash", GET H "a/b: 3\r\n\r\n", 400 },
	{ "a folded field",	GET H "A: 1\r\n 2\r\n\r\n", 400 },
	{ "a field that begins with a blank", GET " " H "\r\n", 400 },
	{ "bare LF in a field",	GET "Host: h\n\r\n", 400 },
	{ "bare LF at the end",	GET H "\n", 400 },
	{ "bare LF in the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400 },
	{ "bare CR in a value",	GET H "A: b\rc\r\n\r\n", 400 },
	{ "two CRs",		GET H "A: b\r\r\n\r\n", 400 },
	{ "a control in a value", GET H "A: b\001c\r\n\r\n", 400 },
	{ "DEL in a value",	GET H "A: b\177c\r\n\r\n", 400 },
	{ "no Host",		GET "\r\n", 400 },
	{ "two Hosts",		GET H H "\r\n", 400 },
	{ "a Host with a path",	GET "Host: h/x\r\n\r\n", 400 },
	{ "a Host with a user",	GET "Host: a@h\r\n\r\n", 400 },
	{ "a Host with a blank", GET "Host: a b\r\n\r\n", 400 },
	{ "two Authorizations",	GET H "Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n", 400 },
	{ "two Origins",	GET H "Origin: a\r\nOrigin: b\r\n\r\n", 400 },
	{ "an unknown expectation", POST "Expect: tea\r\n\r\n", 417 },
	{ "no version",		"GET /\r\n\r\n", 400 },
	{ "HTTP/2",		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505 },
	{ "HTTP/0.9",		"GET / HTTP/0.9\r\n\r\n", 505 },
	{ "HTTP/1.10",		"GET / HTTP/1.10\r\n" H "\r\n", 400 },
	{ "http/1.1",		"GET / http/1.1\r\n" H "\r\n", 400 },
	{ "two blanks",		"GET  / HTTP/1.1\r\n" H "\r\n", 400 },
	{ "two blanks later",	"GET /  HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a tab",		"GET\t/ HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a blank at the end",	"GET / HTTP/1.1 \r\n" H "\r\n", 400 },
	{ "a blank at the start", " GET / HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a method too long",	"ABCDEFGHIJABCDEFGHIJABCDEFGHIJABC / HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a method in brackets", "G(T / HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a target without a slash", "GET x HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a star that is no OPTIONS", "GET * HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a fragment",		"GET /a#b HTTP/1.1\r\n" H "\r\n", 400 },
	{ "raw bytes in a target", "GET /\303\251 HTTP/1.1\r\n" H "\r\n", 400 },
	{ "CONNECT",		"CONNECT h:80 HTTP/1.1\r\n" H "\r\n", 400 },
	{ "another host in the target", "GET http://g/ HTTP/1.1\r\n" H "\r\n", 400 },
	{ "a user in the target", "GET http://h@g/ HTTP/1.1\r\n" H "\r\n", 400 },
	{ "no host in the target", "GET http:///x HTTP/1.1\r\n" H "\r\n", 400 },
	{ "TLS",		"\026\003\001\002", 400 },
	{ "two empty lines first", "\r\n\r\n" GET H "\r\n", 400 },
	{ "no chunk size",	CHUNKED "\r\n", 400 },
	{ "a chunk size with a sign", CHUNKED "+3\r\nabc\r\n0\r\n\r\n", 400 },
	{ "a chunk size with 0x", CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", 400 },
	{ "a chunk size with a blank", CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 400 },
	{ "a chunk size too large", CHUNKED "1234567890abcdef\r\n", 400 },
	{ "a chunk size that ends in LF", CHUNKED "3\nabc\r\n0\r\n\r\n", 400 },
	{ "CR and no LF after a size", CHUNKED "3\rabc\r\n0\r\n\r\n", 400 },
	{ "a chunk longer than said", CHUNKED "3\r\nabcd\r\n0\r\n\r\n", 400 },
	{ "a chunk that ends in LF", CHUNKED "3\r\nabc\n0\r\n\r\n", 400 },
	{ "LF in an extension",	CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n", 400 },
	{ "CR in an extension",	CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n", 400 },
	{ "a trailer without colon", CHUNKED "0\r\nnonsense\r\n\r\n", 400 },
	{ "a trailer that ends in LF", CHUNKED "0\r\na: b\n\r\n", 400 },
	{ "the end in LF",	CHUNKED "0\r\n\n", 400 },
	{ "a folded trailer",	CHUNKED "0\r\na: b\r\n c\r\n\r\n", 400 },
};
/* clang-format on */

static void
refuses(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		auto_str struct str got = { 0 };
		char want[8];
		const char *at;

		trace(&got, bad[i].in, strlen(bad[i].in), 1 << 20);
		at = strstr(str_text(&got), "bad ");
		snprintf(want, sizeof want, "bad %d", bad[i].status);
		if (at == NULL || strncmp(at, want, 7) != 0)
			fail_msg("%s: %s", bad[i].name, str_text(&got));
		/* No request is complete: nothing was served. */
		if (strstr(str_text(&got), "done") != NULL)
			fail_msg("%s: served", bad[i].name);
		expect_trace(bad[i].in, strlen(bad[i].in), NULL);
	}
}

static void
refuses_nul(void **unused)
{
	static const char value[] = GET H "A: b\0c\r\n\r\n";
	static const char name[] = GET H "A\0: b\r\n\r\n";
	static const char target[] = "GET /\0 HTTP/1.1\r\n" H "\r\n";

	(void)unused;
	expect_trace(value, sizeof value - 1, "bad 400 a control character\n");
	expect_trace(name, sizeof name - 1, "bad 400 a control character\n");
	expect_trace(target, sizeof target - 1,
	    "bad 400 a control character\n");
}

static void
reads_heads(void **unused)
{
	(void)unused;
	expect_text("GET /a/b?c=d?e HTTP/1.1\r\nhost: h:80\r\n"
		    "X:  two words\t \r\nEmpty:\r\n\r\n",
	    "GET /a/b ? c=d?e 1.1 0 keep\n host=h:80\n X=two words\n"
	    " Empty=\ndone\n");
	expect_text("\r\n" GET H "Connection: close\r\n\r\n",
	    "GET / ?  1.1 0\n Host=h\n Connection=close\ndone\n");
	expect_text("GET / HTTP/1.0\r\n\r\n", "GET / ?  1.0 0\ndone\n");
	expect_text("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
	    "GET / ?  1.0 0 keep\n Connection=Keep-Alive\ndone\n");
	expect_text(GET H "Connection: foo, Upgrade\r\n\r\n",
	    "GET / ?  1.1 0 keep upgrade\n Host=h\n Connection=foo, Upgrade\n"
	    "done\n");
	expect_text("GET http://H/p?q HTTP/1.1\r\n" H "\r\n",
	    "GET /p ? q 1.1 0 keep\n Host=h\ndone\n");
	expect_text("GET https://h HTTP/1.1\r\n" H "\r\n",
	    "GET / ?  1.1 0 keep\n Host=h\ndone\n");
	expect_text("OPTIONS * HTTP/1.1\r\n" H "\r\n",
	    "OPTIONS * ?  1.1 0 keep\n Host=h\ndone\n");
	expect_text("BREW /?\303=1 HTTP/1.1\r\n" H "\r\n", NULL);
	expect_text("BREW / HTTP/1.9\r\n" H "\r\n",
	    "BREW / ?  1.1 0 keep\n Host=h\ndone\n");
}

static void
reads_bodies(void **unused)
{
	(void)unused;
	expect_text(POST
	    "Content-Length: 5\r\nExpect: 100-Continue\r\n\r\nhello",
	    "POST / ?  1.1 5 keep expect\n Host=h\n Content-Length=5\n"
	    " Expect=100-Continue\n[hello]\ndone\n");
	expect_text(CHUNKED "3\r\nabc\r\n0a;x=\"y\"\r\n0123456789\r\n000\r\n"
			    "Trailer: t\r\nContent-Length: 7\r\n\r\n",
	    "POST / ?  1.1 -1 keep\n Host=h\n Transfer-Encoding=chunked\n"
	    "[abc0123456789]\ndone\n");
	expect_text(POST "Content-Length: 0\r\n\r\n",
	    "POST / ?  1.1 0 keep\n Host=h\n Content-Length=0\ndone\n");
	expect_text(POST "Content-Length: 5\r\n\r\nhel",
	    "POST / ?  1.1 5 keep\n Host=h\n Content-Length=5\n[hel...");
}

static void
serves_two_honest_ones(void **unused)
{
	(void)unused;
	expect_text(POST "Content-Length: 2\r\n\r\nab" GET H "\r\n" CHUNKED
			 "1\r\nx\r\n0\r\n\r\n" GET H "\r\n",
	    "POST / ?  1.1 2 keep\n Host=h\n Content-Length=2\n[ab]\ndone\n"
	    "GET / ?  1.1 0 keep\n Host=h\ndone\n"
	    "POST / ?  1.1 -1 keep\n Host=h\n Transfer-Encoding=chunked\n"
	    "[x]\ndone\n"
	    "GET / ?  1.1 0 keep\n Host=h\ndone\n");
}

static void
many(struct str *s, const char *text, int times)
{
	for (int i = 0; i < times; i++)
		str_puts(s, text);
}

static void
expect_end(const struct str *in, const char *end)
{
	auto_str struct str got = { 0 };

	trace(&got, in->at, in->len, in->len);
	if (got.len < strlen(end) ||
	    strcmp(got.at + got.len - strlen(end), end) != 0)
		fail_msg("%.300s", str_text(&got));
	str_cut(&got, 0);
	trace(&got, in->at, in->len, 13);
	assert_string_equal(got.at + got.len - strlen(end), end);
}

static void
bounds_heads(void **unused)
{
	auto_str struct str fields = { 0 }, over = { 0 }, line = { 0 },
			    large = { 0 };

	(void)unused;
	str_puts(&fields, GET H);
	many(&fields, "a: b\r\n", PARSE_FIELDS_MAX - 1);
	str_puts(&fields, "\r\n");
	expect_end(&fields, "done\n");
	str_puts(&over, GET H);
	many(&over, "a: b\r\n", PARSE_FIELDS_MAX);
	str_puts(&over, "\r\n");
	expect_end(&over, "bad 431 too many fields\n");
	str_puts(&line, "GET /");
	many(&line, "0123456789abcdef", 1024);
	expect_end(&line, "bad 414 request line too long\n");
	str_puts(&large, GET H "a: ");
	many(&large, "0123456789abcdef", 1024);
	expect_end(&large, "bad 431 header too large\n");
}

static void
takes_a_head_of_just_16_kib(void **unused)
{
	auto_str struct str s = { 0 };

	(void)unused;
	str_puts(&s, GET H "a: ");
	while (s.len < PARSE_HEAD_MAX - 4)
		str_putc(&s, 'x');
	str_puts(&s, "\r\n\r\n");
	assert_int_equal(s.len, PARSE_HEAD_MAX);
	expect_end(&s, "done\n");
	str_cut(&s, s.len - 4);
	str_puts(&s, "x\r\n\r\n");
	expect_end(&s, "bad 431 header too large\n");
}

static void
bounds_chunks(void **unused)
{
	auto_str struct str ext = { 0 }, all = { 0 }, trailers = { 0 };

	(void)unused;
	str_puts(&ext, CHUNKED "3;");
	many(&ext, "x", PARSE_LINE_MAX + 1);
	expect_end(&ext, "bad 400 chunk extensions too long\n");
	str_puts(&all, CHUNKED);
	many(&all, "1;0123456789abcdef0123456789abcdef\r\nx\r\n",
	    PARSE_EXTRA_MAX / 32 + 1);
	expect_end(&all, "bad 400 chunk extensions too long\n");
	str_puts(&trailers, CHUNKED "0\r\n");
	many(&trailers, "a: 0123456789abcdef\r\n", PARSE_EXTRA_MAX / 21 + 1);
	expect_end(&trailers, "bad 400 trailers too long\n");
}

static void
knows_what_is_left(void **unused)
{
	static const char in[] = POST "Content-Length: 5\r\n\r\nhe";
	struct parse p;
	const uint8_t *data;
	size_t used, ndata, at = 0;

	(void)unused;
	parse_init(&p);
	assert_false(parse_begun(&p));
	assert_int_equal(parse_feed(&p, (const uint8_t *)in, sizeof in - 1,
			     &used, &data, &ndata),
	    PARSE_HEAD);
	at += used;
	assert_true(parse_begun(&p));
	assert_int_equal(parse_left(&p), 5);
	assert_int_equal(parse_feed(&p, (const uint8_t *)in + at,
			     sizeof in - 1 - at, &used, &data, &ndata),
	    PARSE_DATA);
	assert_int_equal(parse_left(&p), 3);
	assert_null(parse_field(&p, "content"));
	assert_string_equal(parse_field(&p, "CONTENT-length"), "5");
	parse_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_nul),
		cmocka_unit_test(reads_heads),
		cmocka_unit_test(reads_bodies),
		cmocka_unit_test(serves_two_honest_ones),
		cmocka_unit_test(bounds_heads),
		cmocka_unit_test(takes_a_head_of_just_16_kib),
		cmocka_unit_test(bounds_chunks),
		cmocka_unit_test(knows_what_is_left),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
