#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "base/str.h"
#include "web/app.h"
#include "web/http.h"
#include "web/openapi.h"

#define ERROR_SCHEMA                                                           \
	"\"HTTPValidationError\":{\"properties\":{\"detail\":{\"items\":{"     \
	"\"$ref\":\"#/components/schemas/ValidationError\"},\"type\":"         \
	"\"array\"}},\"type\":\"object\"},\"ValidationError\":{"               \
	"\"properties\":{\"loc\":{\"items\":{\"anyOf\":[{\"type\":"            \
	"\"string\"},{\"type\":\"integer\"}]},\"type\":\"array\"},\"msg\":{"   \
	"\"type\":\"string\"},\"type\":{\"type\":\"string\"}},\"required\":["  \
	"\"loc\",\"msg\",\"type\"],\"type\":\"object\"}"

#define OK_REPLY                                                               \
	"\"200\":{\"description\":\"Successful Response\",\"content\":{"       \
	"\"application/json\":{\"schema\":{}}}}"
#define BAD_REPLY                                                              \
	"\"422\":{\"description\":\"Validation Error\",\"content\":{"          \
	"\"application/json\":{\"schema\":{\"$ref\":"                          \
	"\"#/components/schemas/HTTPValidationError\"}}}}"

static const char box_prefix[] = "/proxy/:identity";

/* What a route of the box takes, where that can be said. */
/* clang-format off */
static const struct input {
	const char *path;
	unsigned method;
	const char *query; /* items of "parameters" */
	const char *body;  /* schema; with media type below */
	bool form, optional;
} inputs[] = {
	{ "/tools/run_ipython_cell", HTTP_POST, NULL,
	  "{\"properties\":{\"code\":{\"type\":\"string\"}},\"required\":[\"code\"],\"type\":\"object\"}", false, false },
	{ "/tools/run_shell_command", HTTP_POST, NULL,
	  "{\"properties\":{\"command\":{\"type\":\"string\"}},\"required\":[\"command\"],\"type\":\"object\"}", false, false },
	{ "/mcp/add_servers", HTTP_POST, NULL,
	  "{\"properties\":{\"overwrite\":{\"default\":false,\"type\":\"boolean\"},\"server_configs\":{\"default\":{},\"type\":\"object\"}},\"type\":\"object\"}", false, true },
	{ "/mcp/call_tool", HTTP_POST, NULL,
	  "{\"properties\":{\"arguments\":{\"default\":{},\"type\":\"object\"},\"tool_name\":{\"type\":\"string\"}},\"required\":[\"tool_name\"],\"type\":\"object\"}", false, false },
	{ "/watcher/commit_changes", HTTP_POST, NULL,
	  "{\"properties\":{\"commit_message\":{\"default\":\"Automated commit\",\"type\":\"string\"}},\"type\":\"object\"}", false, true },
	{ "/watcher/generate_diff", HTTP_POST, NULL,
	  "{\"properties\":{\"commit_a\":{\"type\":\"string\"},\"commit_b\":{\"type\":\"string\"}},\"required\":[\"commit_a\",\"commit_b\"],\"type\":\"object\"}", false, false },
	{ "/workspace/file", HTTP_GET,
	  "{\"in\":\"query\",\"name\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}},"
	  "{\"in\":\"query\",\"name\":\"format\",\"required\":false,\"schema\":{\"default\":\"text\",\"enum\":[\"text\",\"bytes\"],\"type\":\"string\"}}", NULL, false, false },
	{ "/workspace/file", HTTP_PUT,
	  "{\"in\":\"query\",\"name\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}", NULL, false, false },
	{ "/workspace/files:batch", HTTP_POST, NULL,
	  "{\"properties\":{\"files\":{\"default\":[],\"items\":{\"format\":\"binary\",\"type\":\"string\"},\"type\":\"array\"},"
	  "\"paths\":{\"default\":[],\"items\":{\"type\":\"string\"},\"type\":\"array\"}},\"type\":\"object\"}", true, true },
	{ "/workspace/list", HTTP_GET,
	  "{\"in\":\"query\",\"name\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}},"
	  "{\"in\":\"query\",\"name\":\"depth\",\"required\":false,\"schema\":{\"anyOf\":[{\"minimum\":1,\"type\":\"integer\"},{\"type\":\"null\"}],\"default\":1}}", NULL, false, false },
	{ "/workspace/exists", HTTP_GET,
	  "{\"in\":\"query\",\"name\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}", NULL, false, false },
	{ "/workspace/entry", HTTP_DELETE,
	  "{\"in\":\"query\",\"name\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}", NULL, false, false },
	{ "/workspace/move", HTTP_POST, NULL,
	  "{\"properties\":{\"destination\":{\"type\":\"string\"},\"source\":{\"type\":\"string\"}},\"required\":[\"source\",\"destination\"],\"type\":\"object\"}", false, false },
	{ "/workspace/mkdir", HTTP_POST, NULL,
	  "{\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[\"path\"],\"type\":\"object\"}", false, false },
};
/* clang-format on */

static const struct input *
input_of(const char *path, int method)
{
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (strcmp(inputs[i].path, path) == 0 &&
		    inputs[i].method == (unsigned)method)
			return &inputs[i];
	return NULL;
}

/* ":name" and "*name" are "{name}" here. */
static void
put_path(struct str *out, const char *path)
{
	bool name = false;

	for (; *path != '\0'; path++) {
		if (name && *path == '/') {
			str_putc(out, '}');
			name = false;
		}
		if ((*path == ':' || *path == '*') && path[-1] == '/') {
			str_putc(out, '{');
			name = true;
		} else
			str_putc(out, *path);
	}
	if (name)
		str_putc(out, '}');
}

static size_t
put_names(struct str *out, const char *path)
{
	size_t n = 0;

	for (const char *p = path; *p != '\0'; p++) {
		if ((*p != ':' && *p != '*') || p == path || p[-1] != '/')
			continue;
		str_printf(out,
		    "%s{\"in\":\"path\",\"name\":\"%.*s\",\"required\":true,"
		    "\"schema\":{\"type\":\"string\"}}",
		    n++ > 0 ? "," : "", (int)strcspn(p + 1, "/"), p + 1);
	}
	return n;
}

static void
put_body(struct str *out, const struct input *in)
{
	str_printf(out,
	    ",\"requestBody\":{\"content\":{\"%s\":{\"schema\":%s}}%s}",
	    in->form ? "multipart/form-data" : "application/json", in->body,
	    in->optional ? "" : ",\"required\":true");
}

static void
put_operation(struct str *out, const struct route *r, const char *path, int m)
{
	const struct input *in = input_of(path, m);
	auto_str struct str names = { 0 };
	size_t n = put_names(&names, path);

	str_putc(out, '"');
	for (const char *c = http_method_name((enum http_method)m); *c != '\0';
	     c++)
		str_putc(out, (char)tolower((unsigned char)*c));
	str_puts(out, "\":{");
	if (in != NULL && in->query != NULL)
		str_printf(&names, "%s%s", n > 0 ? "," : "", in->query);
	if (names.len > 0)
		str_printf(out, "\"parameters\":[%s],", names.at);
	str_puts(out, "\"responses\":{" OK_REPLY);
	if (names.len > 0 || in != NULL)
		str_puts(out, "," BAD_REPLY);
	str_putc(out, '}');
	if (in != NULL && in->body != NULL)
		put_body(out, in);
	if (r->auth != AUTH_NONE)
		str_puts(out, ",\"security\":[{\"HTTPBearer\":[]}]");
	str_putc(out, '}');
}

/* All rows of one path, in one object. */
static void
put_item(struct str *out, const struct app *a, size_t first, size_t skip)
{
	size_t told = 0;

	str_putc(out, '"');
	put_path(out, a->route[first].path + skip);
	str_puts(out, "\":{");
	for (size_t i = first; i < a->nroute; i++) {
		if (strcmp(a->route[i].path, a->route[first].path) != 0)
			continue;
		for (int m = 0; m < HTTP_METHODS; m++) {
			if (!(a->route[i].methods & 1u << m))
				continue;
			if (told++ > 0)
				str_putc(out, ',');
			put_operation(out, &a->route[i],
			    a->route[i].path + skip, m);
		}
	}
	str_putc(out, '}');
}

static bool
told_before(const struct app *a, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(a->route[k].path, a->route[i].path) == 0)
			return true;
	return false;
}

static bool
of_box(const char *path)
{
	return strncmp(path, box_prefix, sizeof box_prefix - 1) == 0 &&
	    strchr(path, '*') == NULL;
}

static void
put_paths(struct str *out, const struct app *a, bool box)
{
	size_t told = 0;

	str_puts(out, "\"paths\":{");
	for (size_t i = 0; i < a->nroute; i++) {
		if (of_box(a->route[i].path) != box || told_before(a, i))
			continue;
		if (told++ > 0)
			str_putc(out, ',');
		put_item(out, a, i, box ? sizeof box_prefix - 1 : 0);
	}
	str_putc(out, '}');
}

static void
put_document(struct str *out, const struct app *a, const char *info, bool box)
{
	str_printf(out, "{\"openapi\":\"3.1.0\",\"info\":{%s},", info);
	put_paths(out, a, box);
	str_puts(out,
	    ",\"components\":{\"schemas\":{" ERROR_SCHEMA
	    "},\"securitySchemes\":{\"HTTPBearer\":{\"scheme\":\"bearer\","
	    "\"type\":\"http\"}}}}");
}

void
openapi_manager(struct str *out, const struct app *a)
{
	put_document(out, a,
	    "\"title\":\"Runtime Manager Service\",\"version\":\"v1.1.5\"",
	    false);
}

void
openapi_box(struct str *out, const struct app *a)
{
	put_document(out, a,
	    "\"title\":\"AgentScope Runtime Sandbox Server\",\"version\":"
	    "\"1.0\"",
	    true);
}

/* No script and nothing from elsewhere. */
void
openapi_page(struct str *out, const struct app *a)
{
	str_puts(out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<title>Runtime Manager Service</title></head>\n<body><h1>Runtime "
	    "Manager Service</h1>\n<p>The same for programs: <a "
	    "href=\"/openapi.json\">/openapi.json</a></p>\n<table>\n");
	for (size_t i = 0; i < a->nroute; i++)
		for (int m = 0; m < HTTP_METHODS; m++) {
			if (!(a->route[i].methods & 1u << m))
				continue;
			str_printf(out, "<tr><td>%s</td><td><code>",
			    http_method_name((enum http_method)m));
			put_path(out, a->route[i].path);
			str_printf(out, "</code></td><td>%s</td></tr>\n",
			    a->route[i].auth == AUTH_NONE        ? ""
				: a->route[i].auth == AUTH_ADMIN ? "admin"
								 : "key");
		}
	str_puts(out, "</table></body></html>\n");
}
