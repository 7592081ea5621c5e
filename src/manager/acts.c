#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "manager/broker_call.h"
#include "manager/env.h"
#include "manager/inner.h"
#include "wire/link.h"
#include "wire/loop.h"

#define HELLO_MS 15000
#define STOPS_LOUD 3 /* after so many stops in vain it is said aloud */

/* ---- events ---- */

int
sandbox_event(struct sandbox *sb, enum life_event ev)
{
	bool was_alive = sandbox_alive(sb);
	enum life_state was = sb->life.state;
	unsigned deadline;
	struct err err;

	/* Refused: it came too late, and the question is another one now. */
	if (life_event(&sb->life, ev, &err) < 0)
		return -1;
	sb->m->alive += sandbox_alive(sb);
	sb->m->alive -= was_alive;
	log_say(LOG_DEBUG, "life", "sandbox", sb->rec.id, "key", sb->hex, "was",
	    life_state_name(was), "on", life_event_name(ev), "is",
	    life_state_name(sb->life.state), NULL);
	watch_stop(sb->timer);
	deadline = life_deadline(sb->life.state);
	if (deadline > 0)
		watch_arm(sb->timer, (int64_t)deadline * 1000);
	if (sb->life.state == LIFE_DEAD)
		sandbox_ended(sb); /* may be the end of sb itself */
	return 0;
}

static void
event_posted(void *arg)
{
	struct sandbox *sb = arg;

	sandbox_event(sb, sb->posted);
}

void
sandbox_event_soon(struct sandbox *sb, enum life_event ev)
{
	loop_unpost(sb->m->loop, sb);
	sb->posted = ev;
	loop_post(sb->m->loop, event_posted, sb);
}

static void
end_guest(struct sandbox *sb)
{
	struct err why;

	err_set(&why, ERR_BUSY, "the sandbox has ended: %s", sandbox_cause(sb));
	guest_end(take_ptr(&sb->guest), &why);
}

void
sandbox_quiet(struct sandbox *sb)
{
	loop_unpost(sb->m->loop, sb);
	broker_forget(take_ptr(&sb->ask));
	sb->building = false;
	archive_stop(sb);
	warm_stop(sb);
	end_guest(sb);
	watch_stop(sb->timer);
}

static void
fail_soon(struct sandbox *sb, const struct err *why)
{
	sb->why = *why;
	sandbox_event_soon(sb, LIFE_FAILED);
}

/* ---- preparing: what is its root made of ---- */

/* A type's name stands for its image, if no image has that name. */
static struct image *
made_of(struct sandbox *sb, struct err *err)
{
	struct image *im = images_get(sb->m->images, sb->image, err);
	const struct conf_type *t;

	if (im != NULL || err->code != ERR_MISSING)
		return im;
	t = conf_type_find(sb->m->config, sb->image);
	if (t == NULL || t->image == NULL || t->image[0] == '\0' ||
	    strcmp(t->image, sb->image) == 0)
		return NULL;
	free(sb->image);
	sb->image = xstrdup(t->image);
	sandbox_version(sb);
	return images_get(sb->m->images, sb->image, err);
}

static void
look_up(struct sandbox *sb)
{
	struct err why;

	image_drop(take_ptr(&sb->made_of));
	if (sb->dir == NULL) {
		sb->made_of = made_of(sb, &why);
		if (sb->made_of == NULL) {
			fail_soon(sb, &why);
			return;
		}
	}
	sandbox_event_soon(sb, LIFE_PREPARED);
}

static void
on_images(void *arg, struct link_msg *reply, const struct err *err)
{
	struct sandbox *sb = arg;

	sb->ask = NULL;
	if (reply == NULL) {
		fail_soon(sb, err);
		return;
	}
	images_dir(sb->m->images, take_fd(&reply->fd[0]));
	look_up(sb);
}

static void
prepare(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);

	mark(sb, MARK_BEGUN);
	sb->goal = GOAL_LIVE;
	sb->stops = 0;
	sb->up = sb->early = false;
	sb->end[0] = '\0';
	sb->why = (struct err){ 0 };
	sandbox_rekey(sb);
	if (sb->dir != NULL || images_open(sb->m->images))
		look_up(sb);
	else
		sb->ask = broker_images(sb->m->broker, on_images, sb);
}

/* ---- stopping ---- */

static void
on_stopped(void *arg, struct link_msg *reply, const struct err *err)
{
	struct sandbox *sb = arg;

	(void)reply;
	sb->ask = NULL;
	/* Its exit is told apart; but what does not exist won't exit. */
	if (err != NULL && err->code == ERR_MISSING)
		sandbox_event(sb, LIFE_EXITED);
	else if (err != NULL)
		log_err(LOG_WARN, err, "stop refused", "sandbox", sb->rec.id,
		    "key", sb->hex, NULL);
}

static void
ask_stop(struct sandbox *sb)
{
	if (++sb->stops == STOPS_LOUD)
		log_say(LOG_ERROR, "a sandbox does not end", "sandbox",
		    sb->rec.id, "key", sb->hex, NULL);
	broker_forget(sb->ask);
	sb->ask = broker_stop(sb->m->broker, sb->key, on_stopped, sb);
}

/* ---- building ---- */

static void
on_hello(void *arg)
{
	sandbox_event(arg, LIFE_HELLO);
}

static void
on_gone(void *arg, const struct err *why)
{
	struct sandbox *sb = arg;

	/* Its calls wait to hear why, and so do we: see LIFE_LOST. */
	sb->why = *why;
	log_err(LOG_INFO, why, "stream lost", "sandbox", sb->rec.id, "key",
	    sb->hex, NULL);
	warm_stop(sb);
	sandbox_event(sb, LIFE_GONE);
}

static void
open_guest(struct sandbox *sb, int stream)
{
	char **env = env_make(sb->m->config, sb->type, sb->made_of,
	    (const char *const *)sb->env);
	struct guest_conf conf = {
		.loop = sb->m->loop,
		.fd = stream,
		.generation = sb->m->generation,
		.env = (const char *const *)env,
		.cwd = "/workspace",
		.hello_ms = HELLO_MS,
		.early = sb->early,
		.owner = { on_hello, on_gone, sb },
	};

	sb->guest = guest_new(&conf);
	env_free(env);
}

static void
fill_build(const struct sandbox *sb, struct broker_build *q)
{
	const struct conf_limits *l = &sb->type->limits;

	memset(q, 0, sizeof *q);
	memcpy(q->id, sb->key, sizeof q->id);
	snprintf(q->hostname, sizeof q->hostname, "%s", sb->rec.session_id);
	q->net = (uint8_t)sb->net;
	q->pids = l->pids;
	q->cpu_milli = l->cpu_milli;
	q->nofile = l->nofile;
	q->memory = l->memory;
	q->root_bytes = l->root;
	q->work_bytes = l->workspace;
	q->shm_bytes = l->shm;
	if (sb->dir != NULL) {
		snprintf(q->dir, sizeof q->dir, "%s", sb->dir);
	} else {
		q->nlayer = (uint16_t)sb->made_of->nlayer;
		memcpy(q->layer, sb->made_of->layer,
		    sb->made_of->nlayer * BROKER_DIGEST);
	}
	q->nmount =
	    (uint16_t)mounts_make(sb->m->config, sb->rec.mount_dir, q->mount);
}

/* It is not wanted any more: if there is something, that has to go too. */
static void
built_in_vain(struct sandbox *sb, const struct err *err)
{
	if (err != NULL && err->code != ERR_TIMEOUT)
		sandbox_event(sb, LIFE_EXITED);
	else
		ask_stop(sb);
}

/*
 * What fails before Hello is the image's doing, as a rule: one that has come
 * up once does again, and nobody need wait for it.  Should it not, its first
 * call says so.
 */
static bool
surely_comes_up(const struct sandbox *sb)
{
	return sb->fresh && sb->made_of != NULL &&
	    sb->made_of->proven == sb->type && sb->rec.mount_dir[0] == '\0';
}

static void
answer_early(struct sandbox *sb)
{
	sb->fresh = false;
	sb->up = sb->ever = true;
	sandbox_save(sb);
	waits_tell_creator(sb);
}

/* A stream and a pidfd; of an end the broker tells, and sooner. */
static void
on_built(void *arg, struct link_msg *reply, const struct err *err)
{
	struct sandbox *sb = arg;

	sb->ask = NULL;
	sb->building = false;
	if (sb->life.state == LIFE_STOPPING) {
		built_in_vain(sb, err);
		return;
	}
	if (reply == NULL) {
		sb->why = *err;
		/* Not answered in time is not "not built": stop it. */
		sandbox_event(sb,
		    err->code == ERR_TIMEOUT ? LIFE_TIMEOUT : LIFE_FAILED);
		return;
	}
	mark(sb, MARK_BUILT);
	memcpy(&sb->built, reply->body, sizeof sb->built);
	sb->early = sb->life.state == LIFE_BUILDING && surely_comes_up(sb);
	open_guest(sb, take_fd(&reply->fd[0]));
	if (sb->life.state == LIFE_BUILDING)
		sandbox_event(sb, LIFE_BUILT);
	if (sb->early)
		answer_early(sb);
}

static void
build(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);
	struct broker_build q;

	mark(sb, MARK_PREPARED);
	fill_build(sb, &q);
	sb->building = true;
	sb->ask = broker_build(sb->m->broker, &q, on_built, sb);
}

/* ---- booting: a stream there is, or has to be asked for ---- */

static void
boot(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);

	if (sb->guest == NULL)
		sb->ask = broker_attach(sb->m->broker, sb->key, on_built, sb);
}

static void
load(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);

	mark(sb, MARK_HELLO);
	if (sb->made_of != NULL)
		sb->made_of->proven = sb->type;
	if ((sb->replaces != NULL ? sb->replaces : sb)->saved > 0)
		archive_load(sb);
	else
		sandbox_event_soon(sb, LIFE_LOADED);
}

static void
became_ready(struct sandbox *sb)
{
	if (!sb->found && (!sb->up || sb->early)) /* neither adopted nor warm */
		count_creation(sb);
	if (sb->early) { /* all was said and written */
		sb->early = false;
		return;
	}
	sb->found = false;
	sb->up = sb->ever = true;
	sb->stopped = false;
	sb->rec.paused = false;
	archive_remove(sb); /* if it was started again */
	sandbox_save(sb);
	if (sb->replaces != NULL)
		restored(sb);
	if (sb->rec.state == REC_WARM)
		warm_for_pool(sb);
}

static void
ready(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);

	if (l->was == LIFE_SAVING)
		archive_unsaved(sb);
	if (l->was == LIFE_LOADING)
		became_ready(sb);
	if (l->was == LIFE_PAUSED) {
		sb->rec.paused = false;
		sandbox_save(sb);
	}
	waits_tell(sb, WAIT_READY, NULL);
	pauses_begin(sb);
	if (sb->goal == GOAL_STOP) /* asked for before it had come up */
		sandbox_event_soon(sb, LIFE_SAVE);
}

static void
on_looked(void *arg, struct link_msg *reply, const struct err *err)
{
	struct sandbox *sb = arg;

	(void)reply;
	sb->ask = NULL;
	if (err != NULL && err->code == ERR_MISSING)
		sandbox_event(sb, LIFE_EXITED);
}

static void
paused(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);
	struct err why;

	/* Found, but has it ended since the list was made?  A running one is
	 * asked for a stream, and so would tell. */
	if (l->was == LIFE_NEW)
		sb->ask = broker_usage(sb->m->broker, sb->key, on_looked, sb);

	sb->rec.paused = true;
	sandbox_save(sb);
	err_set(&why, ERR_BUSY, "the sandbox is paused");
	waits_tell(sb, WAIT_READY, &why);
}

static void
save(struct life *l)
{
	archive_save(sandbox_of(l));
}

/* ---- the end ---- */

static void
stop(struct life *l)
{
	struct sandbox *sb = sandbox_of(l);

	if (l->was == LIFE_SAVING && sb->goal == GOAL_RECYCLE)
		recycle_saved(sb);
	if (l->was == LIFE_SAVING && sb->goal == GOAL_STOP) {
		sb->stopped = true;
		sandbox_save(sb);
	}
	archive_stop(sb);
	warm_stop(sb);
	end_guest(sb);
	/* The broker may know nothing of it yet: first hear what came of it. */
	if (!sb->building)
		ask_stop(sb);
}

static void
dead(struct life *l)
{
	sandbox_quiet(sandbox_of(l));
}

life_act *const sandbox_acts[LIFE_STATES] = {
	[LIFE_PREPARING] = prepare,
	[LIFE_BUILDING] = build,
	[LIFE_BOOTING] = boot,
	[LIFE_LOADING] = load,
	[LIFE_READY] = ready,
	[LIFE_PAUSED] = paused,
	[LIFE_SAVING] = save,
	[LIFE_STOPPING] = stop,
	[LIFE_DEAD] = dead,
};
