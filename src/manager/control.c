#include <string.h>
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/broker_call.h"
#include "manager/inner.h"
#include "wire/link.h"
#include "wire/loop.h"

#define GONE_MS 10000

/* ---- release ---- */

void
release_one(struct sandbox *sb, const char *reason)
{
	struct record *r = &sb->rec;
	struct err why;

	if (r->state == REC_RELEASED)
		return;
	sandbox_pin(sb);
	session_leave(sb);
	pool_leave(sb);
	archive_remove(sb);
	if (sb->replaces != NULL) {
		archive_remove(sb->replaces);
		sandbox_unpin(take_ptr(&sb->replaces));
	}
	r->session[0] = '\0';
	json_object_del(r->meta, "session_ctx_id");
	r->recycled_at = 0;
	r->paused = false;
	sb->goal = GOAL_RELEASE;
	sb->m->counts.released++;
	sandbox_state(sb, REC_RELEASED, reason);
	err_set(&why, ERR_MISSING, "the sandbox was released");
	waits_tell(sb, WAIT_READY, &why);
	waits_tell(sb, WAIT_PAUSE, &why);
	waits_tell(sb, WAIT_STOPPED, NULL);
	sandbox_event(sb, LIFE_STOP); /* if there is anything */
	sandbox_unpin(sb);
}

/* The stub of a replaced one stays as it is, and leads nowhere any more. */
static void
release_stub(struct sandbox *stub)
{
	struct err err;
	struct sandbox *target =
	    manager_resolve(stub->m, -1, stub->rec.id, true, &err);

	if (target != NULL && target != stub)
		release_one(target, "released");
	sandbox_state(stub, REC_RELEASED, NULL);
}

int
manager_release(struct manager *m, int tenant, const char *identity)
{
	struct sandbox *sb = manager_find(m, tenant, identity, false);

	if (sb == NULL)
		return 1;
	if (sb->rec.state == REC_REPLACED)
		release_stub(sb);
	else
		release_one(sb, "released");
	return 1;
}

struct wait *
manager_end(struct manager *m, int tenant, const char *identity, manager_fn *fn,
    void *arg)
{
	struct sandbox *sb = manager_find(m, tenant, identity, true);
	struct wait *w = NULL;

	if (sb != NULL && sandbox_alive(sb)) {
		w = wait_new(m, WAIT_GONE, sb, fn, arg);
		watch_arm(w->late, GONE_MS);
	}
	manager_release(m, tenant, identity);
	return w;
}

static bool
for_cleanup(const struct sandbox *sb, int tenant)
{
	/* Warm ones are nobody's; whoever is alone here owns them too. */
	bool alone = sb->m->config->ntenant <= 1;

	if (!sb->listed || sb->rec.state == REC_REPLACED ||
	    sb->rec.state == REC_RELEASED)
		return false;
	return tenant < 0 || sb->rec.tenant == tenant ||
	    (alone && sb->rec.state == REC_WARM);
}

void
manager_cleanup(struct manager *m, int tenant)
{
	auto_free struct sandbox **some = NULL;
	struct sandbox *sb;
	size_t n = 0;

	/* The list changes while we release: take what is meant out first. */
	TAILQ_FOREACH(sb, &m->all, all)
		n += for_cleanup(sb, tenant);
	some = xcalloc(n, sizeof *some);
	n = 0;
	TAILQ_FOREACH(sb, &m->all, all)
		if (for_cleanup(sb, tenant)) {
			sandbox_pin(sb);
			some[n++] = sb;
		}
	for (size_t i = 0; i < n; i++) {
		release_one(some[i], "cleanup");
		sandbox_unpin(some[i]);
	}
}

/* ---- stop and start ---- */

struct wait *
manager_stop(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	struct sandbox *sb = manager_resolve(m, tenant, identity, true, err);
	struct wait *w;

	if (sb == NULL)
		return NULL;
	if (sb->rec.state != REC_RUNNING) {
		err_set(err, ERR_BUSY, "the sandbox is %s",
		    record_state_name(sb->rec.state));
		return NULL;
	}
	if (!sb->stopped && sb->life.state != LIFE_READY && !sb->early) {
		err_set(err, ERR_BUSY, "the sandbox is %s",
		    life_state_name(sb->life.state));
		return NULL;
	}
	w = wait_new(m, WAIT_STOPPED, sb, fn, arg);
	if (sb->stopped && !sandbox_alive(sb))
		wait_tell(w, sb, NULL);
	if (!sb->stopped) {
		sb->goal = GOAL_STOP;
		if (!sb->early) /* else when it has come up: ready() */
			sandbox_event(sb, LIFE_SAVE);
	}
	return w;
}

struct wait *
manager_start(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	struct sandbox *sb = manager_resolve(m, tenant, identity, true, err);
	struct wait *w;

	if (sb == NULL)
		return NULL;
	if (sb->rec.state != REC_RUNNING || !sb->stopped)
		return manager_ready(m, tenant, identity, false, fn, arg, err);
	if (m->draining) {
		err_set(err, ERR_BUSY, "hutch is being stopped");
		return NULL;
	}
	w = wait_new(m, WAIT_READY, sb, fn, arg);
	sandbox_touch(sb);
	if (!sandbox_alive(sb))
		sandbox_event(sb, LIFE_CREATE);
	return w;
}

const char *
manager_status(struct manager *m, int tenant, const char *identity)
{
	struct sandbox *sb = manager_find(m, tenant, identity, false);

	if (sb == NULL)
		sb = table_find(&m->by_container, identity, strlen(identity));
	if (sb == NULL || (tenant >= 0 && sb->rec.tenant != tenant))
		return NULL;
	if (sb->rec.state == REC_ERROR || sb->stopped)
		return "exited";
	if (sb->rec.state != REC_RUNNING && sb->rec.state != REC_WARM)
		return NULL;
	if (sb->rec.paused)
		return "paused";
	return sb->ever ? "running" : "created";
}

/* ---- what the broker is asked for, and no more ---- */

static void
on_frozen(void *arg, struct link_msg *reply, const struct err *err)
{
	struct wait *w = arg;
	struct sandbox *sb = w->sb;
	struct err why;

	(void)reply;
	w->ask = NULL;
	if (err != NULL) {
		wait_tell(w, NULL, err);
		return;
	}
	if (!w->pause && sb->guest == NULL && sb->life.state == LIFE_PAUSED) {
		sb->found = true; /* by a front that came later */
		w->what = WAIT_READY;
		sandbox_event(sb, LIFE_ATTACH);
		return;
	}
	if (sandbox_event(sb, w->pause ? LIFE_PAUSE : LIFE_RESUME) == 0) {
		wait_tell(w, sb, NULL);
		return;
	}
	err_set(&why, ERR_BUSY, "the sandbox is %s",
	    life_state_name(sb->life.state));
	wait_tell(w, NULL, &why);
}

struct wait *
manager_pause(struct manager *m, struct sandbox *sb, bool on, manager_fn *fn,
    void *arg, struct err *err)
{
	enum life_state from = on ? LIFE_READY : LIFE_PAUSED;
	enum life_state done = on ? LIFE_PAUSED : LIFE_READY;
	struct wait *w;

	if (sb->early) {
		w = wait_new(m, on ? WAIT_PAUSE : WAIT_READY, sb, fn, arg);
		w->pause = on;
		return w;
	}
	if (sb->life.state != from && sb->life.state != done) {
		err_set(err, ERR_BUSY, "the sandbox is %s",
		    sb->stopped ? "stopped" : life_state_name(sb->life.state));
		return NULL;
	}
	w = wait_new(m, WAIT_ASKED, sb, fn, arg);
	w->pause = on;
	if (sb->life.state == done)
		wait_tell(w, sb, NULL);
	else
		w->ask = broker_freeze(m->broker, sb->key, on, on_frozen, w);
	return w;
}

void
pauses_begin(struct sandbox *sb)
{
	struct wait *w;

	TAILQ_FOREACH(w, &sb->waits, next) {
		if (w->what != WAIT_PAUSE)
			continue;
		w->what = WAIT_ASKED;
		w->ask =
		    broker_freeze(sb->m->broker, sb->key, true, on_frozen, w);
	}
}

static void
on_used(void *arg, struct link_msg *reply, const struct err *err)
{
	struct wait *w = arg;

	w->ask = NULL;
	if (reply != NULL)
		memcpy(&w->used, reply->body, sizeof w->used);
	wait_tell(w, NULL, err);
}

struct wait *
manager_usage(struct manager *m, struct sandbox *sb, usage_fn *fn, void *arg,
    struct err *err)
{
	struct wait *w;

	if (!sandbox_alive(sb)) {
		err_set(err, ERR_BUSY, "the sandbox does not run");
		return NULL;
	}
	w = wait_new(m, WAIT_ASKED, sb, NULL, arg);
	w->usage = fn;
	w->ask = broker_usage(m->broker, sb->key, on_used, w);
	return w;
}
