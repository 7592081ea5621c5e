#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/builtin.h"
#include "engine/engine.h"
#include "engine/react.h"
#include "engine/run.h"
#include "engine/talk.h"
#include "engine/toolbox.h"
#include "json/jtext.h"

#define REMEMBER_MOST (512u << 10) /* bytes of one conversation */
#define TALKS_MOST 1000            /* kept in this process */

/* Without a memory of somebody else's: the newest conversations. */
struct talk {
	char key[65];
	json_t *messages;
	TAILQ_ENTRY(talk) next;
};

struct builtin {
	struct builtin_conf conf;
	TAILQ_HEAD(talk_list, talk) talks; /* latest used first */
	unsigned ntalk;
};

struct turn {
	struct builtin *of;
	int tenant;
	char *user, *session;
};

/* ---- what is remembered ---- */

/* Who speaks with whom; also the name of the session's sandbox. */
static void
key_of(const struct builtin *b, int tenant, const char *user,
    const char *session, char key[65])
{
	auto_free char *text = xasprintf("%d\n%s\n%s\n%s", tenant,
	    b->conf.agent->name, user, session);
	uint8_t digest[SHA256_BYTES];

	sha256(digest, text, strlen(text));
	hex_put(key, digest, sizeof digest);
}

static void
talk_free(struct builtin *b, struct talk *t)
{
	TAILQ_REMOVE(&b->talks, t, next);
	b->ntalk--;
	json_decref(t->messages);
	free(t);
}

static struct talk *
talk_find(struct builtin *b, const char *key)
{
	struct talk *t;

	TAILQ_FOREACH(t, &b->talks, next)
		if (strcmp(t->key, key) == 0)
			return t;
	return NULL;
}

static json_t *
recall(struct builtin *b, int tenant, const char *user, const char *session)
{
	const struct builtin_memory *m = b->conf.memory;
	struct talk *t;
	char key[65];

	if (strcmp(b->conf.agent->memory, "none") == 0)
		return NULL;
	if (m != NULL)
		return m->load(b->conf.memory_arg, tenant, b->conf.agent->name,
		    user, session);
	key_of(b, tenant, user, session, key);
	t = talk_find(b, key);
	return t != NULL ? json_incref(t->messages) : NULL;
}

static void
keep(struct builtin *b, const char *key, const json_t *added)
{
	struct talk *t = talk_find(b, key);

	if (t == NULL) {
		t = xcalloc(1, sizeof *t);
		strcpy(t->key, key);
		t->messages = json_array();
		b->ntalk++;
	} else {
		TAILQ_REMOVE(&b->talks, t, next);
	}
	TAILQ_INSERT_HEAD(&b->talks, t, next);
	json_array_extend(t->messages, (json_t *)(uintptr_t)added);
	talk_trim(t->messages, REMEMBER_MOST);
	if (b->ntalk > TALKS_MOST)
		talk_free(b, TAILQ_LAST(&b->talks, talk_list));
}

static void
over(void *arg, const json_t *added)
{
	struct turn *t = arg;
	struct builtin *b = t->of;
	char key[65];

	if (strcmp(b->conf.agent->memory, "none") != 0) {
		if (b->conf.memory != NULL) {
			b->conf.memory->save(b->conf.memory_arg, t->tenant,
			    b->conf.agent->name, t->user, t->session, added);
		} else {
			key_of(b, t->tenant, t->user, t->session, key);
			keep(b, key, added);
		}
	}
	free(t->user);
	free(t->session);
	free(t);
}

/* ---- a run ---- */

static const struct conf_model *
model_of(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->nmodel; i++)
		if (strcmp(c->model[i].name, name) == 0)
			return &c->model[i];
	return &c->model[0];
}

static unsigned
tools_of(const struct conf_agent *a)
{
	unsigned bits = 0;

	for (size_t i = 0; i < a->tools.n; i++)
		bits |= strcmp(a->tools.at[i], "all") == 0
		    ? TOOLBOX_ALL
		    : toolbox_bit(a->tools.at[i]);
	return bits;
}

/* What the request wants of the model, if it says so. */
static void
ask_for(json_t *settings, const json_t *request)
{
	static const char *const names[] = { "temperature", "top_p",
		"max_tokens", "stop", "seed", "frequency_penalty",
		"presence_penalty" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *v = json_object_get(request, names[i]);

		if (v != NULL && !json_is_null(v))
			json_object_set(settings, names[i], v);
	}
}

static json_t *
settings_of(const struct builtin *b, const struct conf_model *m,
    const json_t *request, unsigned tools)
{
	const struct conf_agent *a = b->conf.agent;
	json_t *s = json_pack("{ss,sb,s{sb}}", "model", m->model, "stream", 1,
	    "stream_options", "include_usage", 1);

	if (*a->temperature != '\0')
		json_object_set_new(s, "temperature",
		    json_real(strtod(a->temperature, NULL)));
	if (a->max_tokens > 0)
		json_object_set_new(s, "max_tokens",
		    json_integer(a->max_tokens));
	ask_for(s, request);
	if (tools != 0) {
		auto_free char *text = toolbox_schema(tools);

		json_object_set_new(s, "tools", json_loads(text, 0, NULL));
	}
	return s;
}

static json_t *
system_of(const struct conf_agent *a)
{
	auto_str struct str text = { 0 };

	for (size_t i = 0; i < a->system.n; i++) {
		if (i > 0)
			str_putc(&text, '\n');
		str_puts(&text, a->system.at[i]);
	}
	return json_pack("{ss,ss}", "role", "system", "content",
	    str_text(&text));
}

/* A sandbox a session, named so that nobody can guess another's. */
static char *
sandbox_of(const struct builtin *b, int tenant, const struct run_facts *f)
{
	char key[65];

	key_of(b, tenant, f->user_id, f->session_id, key);
	return xasprintf("agent:%s:%.32s", b->conf.agent->name, key);
}

void
builtin_run(struct builtin *b, struct run *run, int tenant,
    const json_t *request)
{
	const struct conf_agent *a = b->conf.agent;
	const struct conf_model *m = model_of(b->conf.config, a->model);
	const struct run_facts *f = run_facts(run);
	auto_free char *session = sandbox_of(b, tenant, f);
	struct turn *t = xcalloc(1, sizeof *t);
	struct react_conf conf = { .loop = b->conf.loop,
		.manager = b->conf.manager,
		.models = b->conf.models,
		.tenant = tenant,
		.model = m->name,
		.retries = m->retries,
		.messages = json_array(),
		.tools = tools_of(a),
		.type = *a->type != '\0' ? a->type : NULL,
		.session = session,
		.max_steps = a->max_steps,
		.tool_timeout_ms = a->tool_timeout * 1000,
		.reasoning = a->reasoning,
		.tracer = b->conf.tracer,
		.traceparent =
		    jtext_cstring(json_object_get(request, "traceparent")),
		.over = over,
		.arg = t };
	json_t *before = recall(b, tenant, f->user_id, f->session_id);

	t->of = b;
	t->tenant = tenant;
	t->user = xstrdup(f->user_id);
	t->session = xstrdup(f->session_id);
	conf.settings = settings_of(b, m, request, conf.tools);
	if (a->system.n > 0)
		json_array_append_new(conf.messages, system_of(a));
	if (before != NULL) {
		talk_trim(before, REMEMBER_MOST);
		json_array_extend(conf.messages, before);
	}
	json_decref(before);
	conf.known = json_array_size(conf.messages);
	talk_add_input(conf.messages, request);
	react_start(&conf, run);
}

struct builtin *
builtin_new(const struct builtin_conf *conf)
{
	struct builtin *b = xcalloc(1, sizeof *b);

	b->conf = *conf;
	TAILQ_INIT(&b->talks);
	return b;
}

void
builtin_free(struct builtin *b)
{
	struct talk *t;

	while ((t = TAILQ_FIRST(&b->talks)) != NULL)
		talk_free(b, t);
	free(b);
}

/* ---- as an agent of the engine ---- */

static void
start(void *arg, struct run *run, int tenant, const json_t *request)
{
	builtin_run(arg, run, tenant, request);
}

static void
drop(void *arg)
{
	builtin_free(arg);
}

static const struct agent_source source = { .start = start, .drop = drop };

void
builtin_offer(struct engine *e, const struct builtin_conf *conf)
{
	const struct config *c = conf->config;
	struct builtin_conf one = *conf;
	struct err err;

	for (size_t i = 0; i < c->nagent; i++) {
		const struct conf_agent *a = one.agent = &c->agent[i];

		if (engine_add(e, a->name,
			*a->title != '\0' ? a->title : a->name, a->description,
			&source, builtin_new(&one), &err) == NULL)
			log_err(LOG_ERROR, &err, "agent not offered", "agent",
			    a->name, NULL);
	}
}
