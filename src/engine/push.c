#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/model_client.h"
#include "engine/push.h"
#include "json/jtext.h"
#include "wire/loop.h"
#include "wire/model.h"

#define TRIES 3
#define AGAIN_MS 1000 /* and five times that before the last */
#define MOST 256      /* at once; more are lost, which is logged */

struct push {
	struct pushes *of;
	char *url, *token, *auth, *body;
	unsigned tries, status;
	struct model_call *call;
	struct watch *timer;
	TAILQ_ENTRY(push) next;
};

struct pushes {
	struct loop *loop;
	struct model_client *models;
	TAILQ_HEAD(, push) all;
	unsigned n;
};

static void
push_free(struct push *p)
{
	TAILQ_REMOVE(&p->of->all, p, next);
	p->of->n--;
	if (p->call != NULL)
		model_call_cancel(p->call);
	watch_free(p->timer);
	free(p->url);
	free(p->token);
	free(p->auth);
	free(p->body);
	free(p);
}

static void
on_head(void *arg, unsigned status, unsigned retry_after)
{
	struct push *p = arg;

	(void)retry_after;
	p->status = status;
}

static void
on_bytes(void *arg, const uint8_t *bytes, size_t n)
{
	struct push *p = arg;

	(void)bytes;
	model_call_took(p->call, n);
}

static void
on_done(void *arg, const struct err *err)
{
	struct push *p = arg;
	auto_free char *status = xasprintf("%u", p->status);
	bool taken = err == NULL && p->status >= 200 && p->status < 300;

	p->call = NULL;
	if (!taken && p->tries < TRIES &&
	    (err == NULL || err->code != ERR_DENIED)) {
		watch_arm(p->timer, p->tries == 1 ? AGAIN_MS : 5 * AGAIN_MS);
		return;
	}
	log_say(taken ? LOG_DEBUG : LOG_NOTE,
	    taken ? "notification sent" : "notification not taken", "status",
	    status, "error", err != NULL ? err->text : NULL, NULL);
	push_free(p);
}

static const struct model_call_ops ops = { on_head, on_bytes, on_done };

static void
attempt(void *arg, int what)
{
	struct push *p = arg;
	const struct model_want w = { .op = MODEL_PUSH,
		.name = "",
		.url = p->url,
		.token = p->token,
		.auth = p->auth,
		.body = p->body,
		.nbody = strlen(p->body),
		.ops = &ops,
		.arg = p };
	struct err err;

	(void)what;
	p->tries++;
	p->status = 0;
	p->call = model_call_start(p->of->models, &w, &err);
	if (p->call == NULL) {
		log_err(LOG_NOTE, &err, "notification not sent", NULL);
		push_free(p);
	}
}

static char *
copy_of(const json_t *o, const char *name)
{
	const char *text = jtext_cstring(json_object_get(o, name));

	return text != NULL && *text != '\0' ? xstrdup(text) : NULL;
}

/* "Bearer CREDENTIALS", by the first scheme that it names. */
static char *
auth_of(const json_t *config)
{
	const json_t *a = json_object_get(config, "authentication");
	const char *secret = jtext_cstring(json_object_get(a, "credentials"));
	const char *scheme =
	    jtext_cstring(json_array_get(json_object_get(a, "schemes"), 0));

	if (scheme == NULL)
		scheme = jtext_cstring(json_object_get(a, "scheme"));
	if (secret == NULL || *secret == '\0')
		return NULL;
	return xasprintf("%s %s", scheme != NULL ? scheme : "Bearer", secret);
}

void
push_send(struct pushes *all, const json_t *setting, const char *body)
{
	const json_t *config =
	    json_object_get(setting, "pushNotificationConfig");
	char *url = copy_of(config, "url");
	struct push *p;

	if (url == NULL || all->n >= MOST) {
		log_say(LOG_NOTE, "notification not sent", "why",
		    url == NULL ? "no url" : "too many at once", NULL);
		free(url);
		return;
	}
	p = xcalloc(1, sizeof *p);
	p->of = all;
	p->url = url;
	p->token = copy_of(config, "token");
	p->auth = auth_of(config);
	p->body = xstrdup(body);
	p->timer = watch_timer(all->loop, attempt, p);
	TAILQ_INSERT_TAIL(&all->all, p, next);
	all->n++;
	attempt(p, 0);
}

struct pushes *
pushes_new(struct loop *loop, struct model_client *models)
{
	struct pushes *p = xcalloc(1, sizeof *p);

	p->loop = loop;
	p->models = models;
	TAILQ_INIT(&p->all);
	return p;
}

void
pushes_free(struct pushes *all)
{
	struct push *p;

	if (all == NULL)
		return;
	while ((p = TAILQ_FIRST(&all->all)) != NULL)
		push_free(p);
	free(all);
}
