#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/broker_call.h"
#include "manager/inner.h"
#include "wire/loop.h"

#define HOPS_MAX 10

/* ---- one wait ---- */

static void
wait_move(struct wait *w, struct waits *to)
{
	if (w->in != NULL)
		TAILQ_REMOVE(w->in, w, next);
	w->in = to;
	if (to != NULL)
		TAILQ_INSERT_TAIL(to, w, next);
}

static void
wait_on(struct wait *w, struct sandbox *sb)
{
	if (sb != NULL)
		sandbox_pin(sb);
	if (w->sb != NULL)
		sandbox_unpin(w->sb);
	w->sb = sb;
}

void
wait_free(struct wait *w)
{
	wait_move(w, NULL);
	loop_unpost(w->m->loop, w);
	broker_forget(take_ptr(&w->ask));
	watch_free(w->late);
	wait_on(w, NULL);
	free(w->identity);
	free(w);
}

static void
wait_posted(void *arg)
{
	struct wait *w = arg;
	struct sandbox *sb = w->failed ? NULL : w->sb;
	const struct err *err = w->failed ? &w->why : NULL;

	wait_move(w, NULL);
	w->creates = false;
	if (w->fn != NULL)
		w->fn(w->arg, sb, err);
	else if (w->usage != NULL)
		w->usage(w->arg, w->failed ? NULL : &w->used, err);
	wait_free(w);
}

/* From the loop, never from inside the call that caused it. */
void
wait_tell(struct wait *w, struct sandbox *sb, const struct err *err)
{
	wait_on(w, sb != NULL ? sb : w->sb);
	w->failed = err != NULL;
	if (err != NULL)
		w->why = *err;
	watch_stop(w->late);
	wait_move(w, &w->m->told);
	loop_post(w->m->loop, wait_posted, w);
}

void
waits_tell(struct sandbox *sb, enum wait_for what, const struct err *err)
{
	struct wait *w, *after;

	for (w = TAILQ_FIRST(&sb->waits); w != NULL; w = after) {
		after = TAILQ_NEXT(w, next);
		if (w->what == what)
			wait_tell(w, sb, err);
	}
}

void
waits_tell_creator(struct sandbox *sb)
{
	struct wait *w, *after;

	for (w = TAILQ_FIRST(&sb->waits); w != NULL; w = after) {
		after = TAILQ_NEXT(w, next);
		if (w->creates)
			wait_tell(w, sb, NULL);
	}
}

/* Nobody knows of what was made: it would live for ever. */
static void
disown(struct wait *w)
{
	struct sandbox *sb = w->creates ? w->sb : NULL;

	w->creates = false;
	if (sb != NULL && sb->listed)
		release_one(sb, "its creator left");
}

static void
wait_late(void *arg, int what)
{
	struct wait *w = arg;
	struct err why;

	(void)what;
	err_set(&why, ERR_TIMEOUT, "the sandbox was not ready in time");
	broker_forget(take_ptr(&w->ask));
	wait_tell(w, NULL, &why);
	disown(w);
}

static int64_t
patience_ms(const struct manager *m)
{
	int64_t all = (int64_t)m->config->timeout * 1000;

	return all > 4000 ? all - 2000 : all / 2 + 1;
}

struct wait *
wait_new(struct manager *m, enum wait_for what, struct sandbox *sb,
    manager_fn *fn, void *arg)
{
	struct wait *w = xcalloc(1, sizeof *w);

	w->m = m;
	w->what = what;
	w->fn = fn;
	w->arg = arg;
	w->late = watch_timer(m->loop, wait_late, w);
	watch_arm(w->late, patience_ms(m));
	if (sb != NULL) {
		wait_on(w, sb);
		wait_move(w, &sb->waits);
	}
	return w;
}

void
manager_forget(struct wait *w)
{
	if (w == NULL)
		return;
	disown(w);
	wait_free(w);
}

/* ---- who is meant ---- */

static struct sandbox *
by_name(const struct manager *m, const char *identity)
{
	auto_free char *full = NULL;
	struct sandbox *sb = table_find(&m->by_id, identity, strlen(identity));

	if (sb != NULL || strlen(identity) != 25)
		return sb;
	full = xasprintf("%s%s", sandbox_prefix(m->config), identity);
	return table_find(&m->by_id, full, strlen(full));
}

static int
no_such(const char *identity, struct err *err)
{
	return err_set(err, ERR_MISSING, "No container found with id: %.100s.",
	    identity);
}

struct sandbox *
manager_resolve(struct manager *m, int tenant, const char *identity,
    bool follow, struct err *err)
{
	struct sandbox *sb = by_name(m, identity);

	for (int hops = 0; sb != NULL; hops++) {
		if (tenant >= 0 && sb->rec.tenant != tenant)
			break;
		if (!follow || sb->rec.state != REC_REPLACED)
			return sb;
		if (hops >= HOPS_MAX) {
			err_set(err, ERR_INVALID,
			    "Redirect loop detected for container %.64s",
			    identity);
			return NULL;
		}
		sb = by_name(m, sb->rec.redirect);
	}
	no_such(identity, err);
	return NULL;
}

struct sandbox *
manager_find(struct manager *m, int tenant, const char *identity, bool follow)
{
	struct err err;

	return manager_resolve(m, tenant, identity, follow, &err);
}

/* ---- a sandbox that calls can be made to ---- */

/* What is to be waited for.  NULL: nothing will come of it. */
static struct sandbox *
ready_soon(struct manager *m, int tenant, const char *identity, struct err *err)
{
	struct sandbox *sb = manager_resolve(m, tenant, identity, true, err);

	if (sb == NULL)
		return NULL;
	if (sb->rec.state == REC_RECYCLED)
		return restore(sb, err);
	if (sb->rec.state == REC_RELEASED)
		err_set(err, ERR_MISSING, "the sandbox %s was released",
		    sb->rec.id);
	else if (sb->rec.state == REC_ERROR)
		err_set(err, ERR_BUSY, "the sandbox has ended: %s",
		    sb->rec.reason);
	else if (sb->stopped || sb->goal == GOAL_STOP)
		err_set(err, ERR_BUSY, "the sandbox is stopped");
	else if (sb->life.state == LIFE_PAUSED)
		err_set(err, ERR_BUSY, "the sandbox is paused");
	else
		return sb;
	return NULL;
}

/* 0: w is on its way to be told. */
static int
ready_wait(struct wait *w, int tenant, const char *identity, struct err *err)
{
	struct sandbox *sb = ready_soon(w->m, tenant, identity, err);

	if (sb == NULL)
		return -1;
	if (!w->peek)
		sandbox_touch(sb);
	w->what = WAIT_READY;
	wait_on(w, sb);
	wait_move(w, &sb->waits);
	if (sb->life.state == LIFE_SAVING)
		sandbox_event(sb, LIFE_KEEP); /* tells w too */
	else if (sb->life.state == LIFE_READY || (w->reach && sb->early))
		wait_tell(w, sb, NULL);
	return 0;
}

static struct wait *
wait_for(struct wait *w, int tenant, const char *identity, struct err *err)
{
	if (!w->m->adopted) {
		w->tenant = tenant;
		w->identity = xstrdup(identity);
		wait_move(w, &w->m->early);
		return w;
	}
	if (ready_wait(w, tenant, identity, err) < 0) {
		wait_free(w);
		return NULL;
	}
	return w;
}

struct wait *
manager_ready(struct manager *m, int tenant, const char *identity, bool peek,
    manager_fn *fn, void *arg, struct err *err)
{
	struct wait *w = wait_new(m, WAIT_FOUND, NULL, fn, arg);

	w->peek = peek;
	return wait_for(w, tenant, identity, err);
}

struct wait *
manager_reach(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	struct wait *w = wait_new(m, WAIT_FOUND, NULL, fn, arg);

	w->reach = true;
	return wait_for(w, tenant, identity, err);
}

void
waits_early(struct manager *m)
{
	struct wait *w;

	while ((w = TAILQ_FIRST(&m->early)) != NULL) {
		struct err err;

		wait_move(w, NULL);
		if (ready_wait(w, w->tenant, w->identity, &err) < 0)
			wait_tell(w, NULL, &err);
	}
}
