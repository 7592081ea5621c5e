/* api: the images of the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "json/jtext.h"
#include "manager/broker_call.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"
#include "web/imagedir.h"
#include "wire/link.h"

struct listing {
	struct http_req *q;
	struct broker_ask *ask;
	const char *name; /* the one that is wanted; NULL: all */
};

static void
closed(struct http_req *q)
{
	struct listing *l = http_req_data(q);

	if (l->ask != NULL)
		broker_forget(l->ask);
	free(l);
}

static struct listing *
listing_new(struct http_req *q, const char *name)
{
	struct listing *l = xcalloc(1, sizeof *l);

	l->q = q;
	l->name = name;
	http_req_set_data(q, l);
	http_req_on_closed(q, closed);
	return l;
}

static void
reply_one(struct listing *l, const json_t *list)
{
	json_t *one = imagedir_find(list, l->name);
	struct str out = { 0 };
	struct err err;

	if (one == NULL) {
		err_set(&err, ERR_MISSING, "no such image: %s", l->name);
		api_fail(l->q, &err);
		return;
	}
	jtext_write(&out, one);
	json_decref(one);
	app_reply_json(l->q, 200, &out);
}

static void
listed(void *arg, struct link_msg *m, const struct err *err)
{
	struct listing *l = arg;
	struct str out = { 0 };
	struct err why;
	json_t *list;

	l->ask = NULL;
	if (m == NULL) {
		api_fail(l->q, err);
		return;
	}
	list = imagedir_list(take_fd(&m->fd[0]), &why);
	if (list == NULL)
		api_fail(l->q, &why);
	else if (l->name != NULL)
		reply_one(l, list);
	else {
		str_puts(&out, "{\"images\":");
		jtext_write(&out, list);
		str_putc(&out, '}');
		app_reply_json(l->q, 200, &out);
	}
	json_decref(list);
}

int
api_image_list(struct http_req *q, struct err *err)
{
	struct listing *l = listing_new(q, NULL);

	(void)err;
	l->ask = broker_images(app_of(q)->broker, listed, l);
	return 0;
}

int
api_image_get(struct http_req *q, struct err *err)
{
	struct listing *l = listing_new(q, http_req_name(q, "name"));

	(void)err;
	l->ask = broker_images(app_of(q)->broker, listed, l);
	return 0;
}

static void
removed(void *arg, struct link_msg *m, const struct err *err)
{
	struct listing *l = arg;

	l->ask = NULL;
	app_audit(l->q, "image rm", l->name, m == NULL ? err : NULL);
	if (m == NULL)
		api_fail(l->q, err);
	else
		api_done(l->q);
}

int
api_image_delete(struct http_req *q, struct err *err)
{
	struct listing *l = listing_new(q, http_req_name(q, "name"));

	(void)err;
	l->ask = broker_image_rm(app_of(q)->broker, l->name, removed, l);
	return 0;
}
