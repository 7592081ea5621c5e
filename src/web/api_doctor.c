/*
 * api: what this daemon can and can't do, as the front sees it.
 *
 * The host itself is looked at by `hutch doctor`; here is what only a running
 * daemon knows: which types it could make, who may ask, how much is in use.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "manager/broker_call.h"
#include "manager/manager.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"
#include "web/imagedir.h"
#include "wire/link.h"

struct visit {
	struct http_req *q;
	struct app *app;
	struct broker_ask *ask;
	struct str out;
	size_t n;
};

static void
closed(struct http_req *q)
{
	struct visit *v = http_req_data(q);

	if (v->ask != NULL)
		broker_forget(v->ask);
	str_free(&v->out);
	free(v);
}

static void finding(struct visit *v, const char *name, bool ok, const char *fmt,
    ...) __attribute__((format(printf, 4, 5)));

static void
finding(struct visit *v, const char *name, bool ok, const char *fmt, ...)
{
	auto_str struct str detail = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&detail, fmt, ap);
	va_end(ap);
	if (v->n++ > 0)
		str_putc(&v->out, ',');
	str_puts(&v->out, "{\"name\":");
	jtext_quote_text(&v->out, name);
	str_printf(&v->out, ",\"ok\":%s,\"detail\":", ok ? "true" : "false");
	jtext_quote_text(&v->out, str_text(&detail));
	str_putc(&v->out, '}');
}

static void
look_at_type(struct visit *v, const struct conf_type *t, const json_t *list)
{
	auto_free char *name = xasprintf("type %s", t->name);
	const char *image = t->image != NULL ? t->image : "";
	json_t *record = imagedir_find(list, image);

	if (record != NULL)
		finding(v, name, true, "image %s", image);
	else
		finding(v, name, false,
		    "image %s is not in the store: hutch image import "
		    "FILE.tar %s",
		    image, image);
	json_decref(record);
}

static void
look_at_types(struct visit *v, const json_t *list)
{
	const struct config *c = v->app->config;

	auto_str struct str without = { 0 };

	for (size_t i = 0; i < c->ntype; i++) {
		const struct conf_type *t = &c->type[i];

		if (t->image != NULL && t->image[0] != '\0')
			look_at_type(v, t, list);
		else
			str_printf(&without, "%s%s",
			    without.len > 0 ? ", " : "", t->name);
	}
	if (without.len > 0)
		finding(v, "other types", true, "%s: known, not built yet",
		    without.at);
}

static void
look_at_use(struct visit *v)
{
	const struct config *c = v->app->config;
	struct manager_counts n;
	unsigned alive;

	manager_counts(v->app->manager, &n);
	alive = n.by_state[REC_WARM] + n.by_state[REC_RUNNING];
	if (c->max_instances == 0)
		finding(v, "sandboxes", true, "%u", alive);
	else
		finding(v, "sandboxes", alive < c->max_instances, "%u of %u",
		    alive, c->max_instances);
	if (c->ntenant > 0)
		finding(v, "tokens", true, "of %zu tenants", c->ntenant);
	else
		finding(v, "tokens", true,
		    "none: whoever reaches this host's loopback may do all");
	finding(v, "broker", true, "answers; front number %u",
	    v->app->generation);
}

static void
listed(void *arg, struct link_msg *m, const struct err *err)
{
	struct visit *v = arg;
	json_t *list = NULL;
	struct err why;

	v->ask = NULL;
	str_puts(&v->out, "{\"checks\":[");
	if (m != NULL)
		list = imagedir_list(take_fd(&m->fd[0]), &why);
	else
		why = *err;
	if (list == NULL)
		finding(v, "store", false, "%s", why.text);
	else
		look_at_types(v, list);
	json_decref(list);
	look_at_use(v);
	str_puts(&v->out, "]}");
	app_reply_json(v->q, 200, &v->out);
}

int
api_doctor(struct http_req *q, struct err *err)
{
	struct visit *v = xcalloc(1, sizeof *v);

	(void)err;
	v->q = q;
	v->app = app_of(q);
	http_req_set_data(q, v);
	http_req_on_closed(q, closed);
	v->ask = broker_images(v->app->broker, listed, v);
	return 0;
}
