#include <ctype.h>
#include <string.h>
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/door.h"
#include "web/http.h"
#include "web/openapi.h"

/* [<SandboxType.BASE: 'base'>]: how upstream prints its default types. */
int
door_health(struct http_req *q, struct err *err)
{
	const struct conf_list *types = &app_of(q)->config->default_types;
	auto_str struct str version = { 0 };
	struct str out = { 0 };

	(void)err;
	str_putc(&version, '[');
	for (size_t i = 0; i < types->n; i++) {
		str_puts(&version, i > 0 ? ", <SandboxType." : "<SandboxType.");
		for (const char *c = types->at[i]; *c != '\0'; c++)
			str_putc(&version, (char)toupper((unsigned char)*c));
		str_printf(&version, ": '%s'>", types->at[i]);
	}
	str_putc(&version, ']');
	str_puts(&out, "{\"status\":\"healthy\",\"version\":");
	jtext_quote_text(&out, str_text(&version));
	str_putc(&out, '}');
	app_reply_json(q, 200, &out);
	return 0;
}

int
door_openapi(struct http_req *q, struct err *err)
{
	struct str out = { 0 };

	(void)err;
	openapi_manager(&out, app_of(q));
	app_reply_json(q, 200, &out);
	return 0;
}

int
door_docs(struct http_req *q, struct err *err)
{
	auto_str struct str out = { 0 };

	(void)err;
	openapi_page(&out, app_of(q));
	http_reply(q, 200, "text/html; charset=utf-8", str_text(&out), out.len);
	return 0;
}

int
door_desktop(struct http_req *q, struct err *err)
{
	(void)err;
	http_reply(q, 404, NULL, NULL, 0);
	return 0;
}
