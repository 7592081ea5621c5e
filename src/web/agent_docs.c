/*
 * An agent described: OpenAPI 3.1, made from the table of doors, the native
 * path and what the agent's code has named; and the same as a page, which loads
 * nothing from anywhere.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "json/jtext.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"

static const char schemas[] =
    "{\"AgentRequest\":{\"type\":\"object\",\"title\":\"AgentRequest\","
    "\"additionalProperties\":true,\"required\":[\"input\"],\"properties\":{"
    "\"input\":{\"type\":\"array\",\"items\":{\"$ref\":"
    "\"#/components/schemas/Message\"}},"
    "\"stream\":{\"type\":\"boolean\",\"default\":true},"
    "\"id\":{\"type\":\"string\"},\"session_id\":{\"type\":\"string\"},"
    "\"user_id\":{\"type\":\"string\"},\"model\":{\"type\":\"string\"},"
    "\"temperature\":{\"type\":\"number\"},\"top_p\":{\"type\":\"number\"},"
    "\"max_tokens\":{\"type\":\"integer\"},"
    "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5,\"default\":1},"
    "\"seed\":{\"type\":\"integer\"},"
    "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}},"
    "\"Message\":{\"type\":\"object\",\"title\":\"Message\",\"properties\":{"
    "\"type\":{\"type\":\"string\",\"default\":\"message\"},"
    "\"role\":{\"type\":\"string\",\"enum\":[\"assistant\",\"user\","
    "\"system\",\"tool\"]},"
    "\"content\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
    "\"required\":[\"type\"],\"properties\":{\"type\":{\"type\":\"string\","
    "\"enum\":[\"text\",\"data\",\"image\",\"audio\",\"video\",\"file\","
    "\"refusal\"]},\"text\":{\"type\":\"string\"}}}}}},"
    "\"StopRequest\":{\"type\":\"object\",\"properties\":{"
    "\"session_id\":{\"type\":\"string\"},\"user_id\":{\"type\":\"string\"},"
    "\"id\":{\"type\":\"string\"}}},"
    "\"Error\":{\"type\":\"object\",\"properties\":{\"detail\":{}}}}";

/* What a POST to it takes; others take any JSON. */
static const struct {
	const char *tail; /* of the path */
	const char *schema;
} bodies[] = {
	{ "/stop", "#/components/schemas/StopRequest" },
	{ "/responses", NULL },
	{ "/chat/completions", NULL },
};

static json_t *
ref(const char *to)
{
	return json_pack("{s:s}", "$ref", to);
}

static json_t *
content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

static void
put_names(json_t *operation, const char *path)
{
	json_t *list = json_array();

	for (const char *p = strchr(path, '{'); p != NULL; p = strchr(p, '{')) {
		size_t n = strcspn(++p, "}");

		json_array_append_new(list,
		    json_pack("{s:s,s:s#,s:b,s:{s:s}}", "in", "path", "name", p,
			n, "required", 1, "schema", "type", "string"));
	}
	if (json_array_size(list) > 0)
		json_object_set_new(operation, "parameters", list);
	else
		json_decref(list);
}

static json_t *
operation(const char *path, const char *tag, bool key, bool events,
    json_t *body)
{
	json_t *o = json_pack("{s:{s:{s:s,s:o}}}", "responses", "200",
	    "description", "Successful Response", "content",
	    content(events ? "text/event-stream" : "application/json",
		json_object()));

	if (tag != NULL)
		json_object_set_new(o, "tags", json_pack("[s]", tag));
	if (body != NULL) {
		json_object_set_new(o, "requestBody",
		    json_pack("{s:b,s:o}", "required", 1, "content",
			content("application/json", body)));
		json_object_set_new(json_object_get(o, "responses"), "422",
		    json_pack("{s:s,s:o}", "description", "Validation Error",
			"content",
			content("application/json",
			    ref("#/components/schemas/Error"))));
	}
	if (key)
		json_object_set_new(o, "security",
		    json_pack("[{s:[]}]", "HTTPBearer"));
	put_names(o, path);
	return o;
}

static void
put(json_t *paths, const char *path, const char *method, json_t *operation)
{
	json_t *item = json_object_get(paths, path);
	char name[16];
	size_t i = 0;

	for (; method[i] != '\0' && i < sizeof name - 1; i++)
		name[i] = (char)tolower((unsigned char)method[i]);
	name[i] = '\0';
	if (item == NULL) {
		item = json_object();
		json_object_set_new(paths, path, item);
	}
	json_object_set_new(item, name, operation);
}

/* ":name" is "{name}" here. */
static void
put_path(struct str *out, const char *path)
{
	for (; *path != '\0'; path++) {
		size_t n;

		if (*path != ':') {
			str_putc(out, *path);
			continue;
		}
		n = strcspn(++path, "/");
		str_printf(out, "{%.*s}", (int)n, path);
		path += n - 1;
	}
}

static bool
ends_with(const char *path, const char *tail)
{
	size_t n = strlen(path), k = strlen(tail);

	return n >= k && strcmp(path + n - k, tail) == 0;
}

static json_t *
body_of(const char *path)
{
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		if (ends_with(path, bodies[i].tail) && bodies[i].schema != NULL)
			return ref(bodies[i].schema);
	return json_pack("{s:s}", "type", "object");
}

static void
put_doors(json_t *paths)
{
	for (size_t i = 0; i < nagent_routes; i++) {
		const struct route *r = &agent_routes[i];
		auto_str struct str path = { 0 };

		if (strncmp(r->path, "/agents/", 8) == 0 ||
		    strchr(r->path, '*') != NULL)
			continue;
		put_path(&path, r->path);
		for (int m = 0; m < HTTP_METHODS; m++)
			if (r->methods & 1u << m)
				put(paths, path.at,
				    http_method_name((enum http_method)m),
				    operation(path.at,
					ends_with(r->path, "/ag-ui") ? "ag-ui"
								     : NULL,
					r->auth != AUTH_NONE, false,
					m == HTTP_POST ? body_of(r->path)
						       : NULL));
	}
}

static void
put_native(json_t *paths, const char *native)
{
	static const struct {
		const char *tail, *method;
		bool events;
	} rows[] = {
		{ "", "post", true },
		{ "/stream", "post", true },
		{ "/task", "post", false },
		{ "/task/{task_id}", "get", false },
		{ "/runs/{run_id}", "get", true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str path = { 0 };

		str_printf(&path, "%s%s", native, rows[i].tail);
		put(paths, path.at, rows[i].method,
		    operation(path.at, "agent-api", true, rows[i].events,
			*rows[i].method == 'p'
			    ? ref("#/components/schemas/AgentRequest")
			    : NULL));
	}
}

/* The code's own, as it describes them itself. */
static void
put_endpoints(json_t *paths, const json_t *endpoints)
{
	const json_t *e, *methods, *m, *said;
	size_t i, k;

	json_array_foreach(endpoints, i, e) {
		const char *path =
		    json_string_value(json_object_get(e, "path"));
		bool events = json_is_true(json_object_get(e, "stream"));

		if (path == NULL || *path != '/')
			continue;
		methods = json_object_get(e, "methods");
		said = json_object_get(e, "operation");
		if (json_array_size(methods) == 0)
			put(paths, path, "post",
			    json_is_object(said)
				? json_deep_copy(said)
				: operation(path, "custom", true, events,
				      json_object()));
		json_array_foreach(methods, k, m) {
			const char *name = json_string_value(m);

			if (name != NULL)
				put(paths, path, name,
				    json_is_object(said)
					? json_deep_copy(said)
					: operation(path, "custom", true,
					      events, NULL));
		}
	}
}

static json_t *
describe(struct http_req *q, const struct deployment *d)
{
	json_t *paths = json_object(), *servers = json_array();
	const char *name = http_req_name(q, "agent");
	auto_str struct str base = { 0 };

	put_native(paths, deployment_path(d));
	put_doors(paths);
	put_endpoints(paths,
	    deployment_endpoints((struct deployment *)(uintptr_t)d));
	if (*name != '\0') {
		str_printf(&base, "/agents/%s", name);
		json_array_append_new(servers,
		    json_pack("{s:s}", "url", base.at));
	}
	return json_pack("{s:s, s:{s:s,s:s,s:s}, s:o, s:o, "
			 "s:{s:o,s:{s:{s:s,s:s}}}}",
	    "openapi", "3.1.0", "info", "title", deployment_title(d),
	    "description", deployment_description(d), "version", "v1.1.5",
	    "servers", servers, "paths", paths, "components", "schemas",
	    json_loads(schemas, 0, NULL), "securitySchemes", "HTTPBearer",
	    "type", "http", "scheme", "bearer");
}

int
agent_openapi(struct http_req *q, struct err *unused)
{
	struct deployment *d = agent_of(q);
	struct str out = { 0 };
	json_t *doc;

	(void)unused;
	if (d == NULL)
		return 0;
	doc = describe(q, d);
	if (json_array_size(json_object_get(doc, "servers")) == 0)
		json_object_del(doc, "servers");
	jtext_write(&out, doc);
	json_decref(doc);
	app_reply_json(q, 200, &out);
	return 0;
}

/* ---- for people ---- */

static void
put_html(struct str *out, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '<':
			str_puts(out, "&lt;");
			break;
		case '>':
			str_puts(out, "&gt;");
			break;
		case '&':
			str_puts(out, "&amp;");
			break;
		case '"':
			str_puts(out, "&quot;");
			break;
		default:
			str_putc(out, *text);
		}
}

static void
put_rows(struct str *out, json_t *doc)
{
	const char *path, *method;
	json_t *item, *o;

	json_object_foreach(json_object_get(doc, "paths"), path, item) {
		json_object_foreach(item, method, o) {
			const char *said =
			    json_string_value(json_object_get(o, "summary"));

			str_puts(out, "<tr><td><code>");
			for (const char *c = method; *c != '\0'; c++)
				str_putc(out, (char)toupper((unsigned char)*c));
			str_puts(out, "</code></td><td><code>");
			put_html(out, path);
			str_puts(out, "</code></td><td>");
			put_html(out, said != NULL ? said : "");
			str_puts(out, "</td></tr>\n");
		}
	}
}

int
agent_docs(struct http_req *q, struct err *unused)
{
	struct deployment *d = agent_of(q);
	auto_str struct str out = { 0 };
	json_t *doc;

	(void)unused;
	if (d == NULL)
		return 0;
	doc = describe(q, d);
	str_puts(&out,
	    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<meta name=\"viewport\" content=\"width=device-width\"><title>");
	put_html(&out, deployment_title(d));
	str_puts(&out,
	    "</title><style>body{font:16px sans-serif;max-width:50em;"
	    "margin:2em auto;padding:0 1em;color-scheme:light dark}"
	    "td{padding:.3em 1em .3em 0;vertical-align:top}</style></head>"
	    "<body><h1>");
	put_html(&out, deployment_title(d));
	str_puts(&out, "</h1><p>");
	put_html(&out, deployment_description(d));
	str_puts(&out,
	    "</p><p><a href=\"openapi.json\">openapi.json</a></p><table>\n");
	put_rows(&out, doc);
	str_puts(&out, "</table></body></html>\n");
	json_decref(doc);
	http_reply(q, 200, "text/html; charset=utf-8", out.at, out.len);
	return 0;
}
