#include "web/jsonrpc.h"

#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/escape.h"
#include "json/jtext.h"

/* A string or a whole number is one; so is null, in a response to nobody. */
static int
read_id(struct jsonrpc *r, const json_t *v)
{
	auto_str struct str text = { 0 };

	r->has_id = v != NULL;
	if (!json_is_string(v) && !json_is_integer(v)) {
		r->id = xstrdup("null");
		return v == NULL || json_is_null(v) ? 0 : -1;
	}
	if (jtext_string(v, &(size_t){ 0 }) != NULL)
		escape_json(&text, v);
	else
		jtext_write(&text, v);
	r->id = str_take(&text);
	return 0;
}

int
jsonrpc_read(struct jsonrpc *r, const void *bytes, size_t n, const char **why)
{
	const char *version;
	struct err err;
	int bad_id;

	*r = (struct jsonrpc){ 0 };
	r->body = jtext_read(bytes, n, NULL, &err);
	if (r->body == NULL || !json_is_object(r->body)) {
		r->id = xstrdup("null");
		*why = r->body == NULL       ? "Invalid JSON payload"
		    : json_is_array(r->body) ? "Batches are not taken"
					     : "The request is no object";
		return r->body == NULL ? RPC_PARSE : RPC_REQUEST;
	}
	bad_id = read_id(r, json_object_get(r->body, "id"));
	version = jtext_cstring(json_object_get(r->body, "jsonrpc"));
	r->method = jtext_cstring(json_object_get(r->body, "method"));
	r->params = json_object_get(r->body, "params");
	if (json_is_null(r->params))
		r->params = NULL;
	*why = bad_id < 0 ? "An id is a string or a whole number"
	    : version == NULL || strcmp(version, "2.0") != 0
	    ? "jsonrpc must be \"2.0\""
	    : r->params != NULL && !json_is_object(r->params)
	    ? "params must be an object"
	    : json_object_get(r->body, "method") != NULL && r->method == NULL
	    ? "method must be a string"
	    : NULL;
	return *why != NULL ? RPC_REQUEST : 0;
}

void
jsonrpc_free(struct jsonrpc *r)
{
	json_decref(r->body);
	free(r->id);
	*r = (struct jsonrpc){ 0 };
}

void
jsonrpc_error(struct str *out, const char *id, int code, const char *message,
    const char *data)
{
	str_printf(out,
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,"
	    "\"message\":",
	    id, code);
	escape_quote(out, message);
	if (data != NULL) {
		str_puts(out, ",\"data\":");
		str_puts(out, data);
	}
	str_puts(out, "}}");
}

void
jsonrpc_result(struct str *out, const char *id, const char *result)
{
	str_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
	str_puts(out, result);
	str_putc(out, '}');
}
