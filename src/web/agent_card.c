/* A2A: who an agent is, for clients of 0.3 and of 1.0 in one document. */
#include "config.h"

#include <ctype.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "engine/deployment.h"
#include "json/jtext.h"
#include "web/a2a_desk.h"
#include "web/a2a_int.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"

#define WELL_KNOWN "/.well-known/"

/* What a proxy says of itself, if it is what may stand in an address. */
static const char *
forwarded(const struct http_req *q, const char *name)
{
	const char *v = http_req_header(q, name);

	if (v == NULL || *v == '\0')
		return NULL;
	for (const char *c = v; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) &&
		    strchr("-._~:/[]%", *c) == NULL)
			return NULL;
	return v;
}

/* Where the client has found us: what it wrote in Host. */
void
agent_base_url(struct http_req *q, struct str *out)
{
	const char *proto = forwarded(q, "x-forwarded-proto");
	const char *host = forwarded(q, "x-forwarded-host");
	const char *prefix = forwarded(q, "x-forwarded-prefix");
	const char *name = http_req_name(q, "agent");

	if (host == NULL)
		host = forwarded(q, "host");
	if (host != NULL)
		str_printf(out, "%s://%s", proto != NULL ? proto : "http",
		    host);
	else
		str_puts(out, app_of(q)->agents_url);
	if (prefix != NULL && *prefix == '/')
		str_puts(out, prefix);
	if (*name != '\0')
		str_printf(out, "/agents/%s", name);
}

static json_t *
skills(const struct deployment *d)
{
	const char *text = deployment_description(d);

	return json_pack("[{s:s,s:s,s:s,s:[s,s]}]", "id", deployment_name(d),
	    "name", deployment_title(d), "description",
	    *text != '\0' ? text : deployment_title(d), "tags", "agent",
	    "dialog");
}

/* The two versions have different objects of one name: who says nothing is
 * of 0.3. */
static bool
wants_modern(struct http_req *q)
{
	const char *v = http_req_header(q, "a2a-version");

	return v != NULL && strncmp(v, "1", 1) == 0;
}

static void
add_security(json_t *card, bool modern)
{
	json_object_set_new(card, "securitySchemes",
	    modern ? json_pack("{s:{s:{s:s}}}", "bearer",
			 "httpAuthSecurityScheme", "scheme", "bearer")
		   : json_pack("{s:{s:s,s:s}}", "bearer", "type", "http",
			 "scheme", "bearer"));
	json_object_set_new(card, "security", json_pack("[{s:[]}]", "bearer"));
	json_object_set_new(card, "securityRequirements",
	    json_pack("[{s:{s:{s:[]}}}]", "schemes", "bearer", "list"));
}

json_t *
a2a_card(struct http_req *q, const struct deployment *d, bool pushes)
{
	bool known = app_of(q)->config->ntenant > 0; /* we know who asks */
	auto_str struct str url = { 0 };
	json_t *card;

	agent_base_url(q, &url);
	str_puts(&url, "/a2a");
	card = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:b}", "name",
	    deployment_title(d), "description", deployment_description(d),
	    "version", VERSION, "protocolVersion", "0.3.0", "url",
	    str_text(&url), "preferredTransport", "JSONRPC",
	    "supportsAuthenticatedExtendedCard", known);
	json_object_set_new(card, "additionalInterfaces",
	    json_pack("[{s:s,s:s}]", "url", str_text(&url), "transport",
		"JSONRPC"));
	json_object_set_new(card, "supportedInterfaces",
	    json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:s}]", "url", str_text(&url),
		"protocolBinding", "JSONRPC", "protocolVersion", "1.0", "url",
		str_text(&url), "protocolBinding", "JSONRPC", "protocolVersion",
		"0.3"));
	json_object_set_new(card, "capabilities",
	    json_pack("{s:b,s:b,s:b,s:b}", "streaming", 1, "pushNotifications",
		pushes, "stateTransitionHistory", 0, "extendedAgentCard",
		known));
	json_object_set_new(card, "defaultInputModes",
	    json_pack("[s,s,s]", "text/plain", "application/json", "image/*"));
	json_object_set_new(card, "defaultOutputModes",
	    json_pack("[s,s]", "text/plain", "application/json"));
	json_object_set_new(card, "skills", skills(d));
	if (known)
		add_security(card, wants_modern(q));
	return card;
}

int
agent_card(struct http_req *q, struct err *err)
{
	const struct deployment *d = agent_of(q);
	const struct a2a_desk *desk;
	struct str out = { 0 };
	json_t *card;

	if (d == NULL)
		return 0;
	desk = a2a_desk_of(app_of(q), err);
	if (desk == NULL)
		return -1;
	card = a2a_card(q, d, a2a_desk_pushes(desk));
	jtext_write(&out, card);
	json_decref(card);
	app_reply_json(q, 200, &out);
	return 0;
}
