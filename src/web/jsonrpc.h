/*
 * jsonrpc: the envelope of JSON-RPC 2.0, read and written.
 *
 * Knows no method and no HTTP.  An id is kept as JSON text, so that it goes
 * back as it came.
 */
#ifndef WEB_JSONRPC_H
#define WEB_JSONRPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct str;

#define RPC_PARSE (-32700)
#define RPC_REQUEST (-32600)
#define RPC_METHOD (-32601)
#define RPC_PARAMS (-32602)
#define RPC_INTERNAL (-32603)

struct jsonrpc {
	json_t *body;       /* owns what follows */
	const char *method; /* NULL: a response, not a request */
	json_t *params;     /* an object or a list; NULL: absent */
	char *id;           /* JSON; "null" if there is none that can be told */
	bool has_id;        /* else it is a notification */
};

/* 0, or the code of the error and what to say; id is set either way. */
int jsonrpc_read(struct jsonrpc *, const void *text, size_t n,
    const char **why);
void jsonrpc_free(struct jsonrpc *);

/* data: JSON or NULL. */
void jsonrpc_error(struct str *out, const char *id, int code,
    const char *message, const char *data);
/* {"jsonrpc":"2.0","id":ID,"result":RESULT}: result is JSON. */
void jsonrpc_result(struct str *out, const char *id, const char *result);

#endif
