#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/broker_call.h"
#include "manager/inner.h"
#include "wire/link.h"
#include "wire/loop.h"

#define RECORDS_MAX 20000

/* ---- what the broker says ---- */

static void
on_exited(void *arg, const struct broker_exited *e)
{
	struct manager *m = arg;
	struct sandbox *sb = table_find(&m->by_key, e->id, sizeof e->id);

	if (sb == NULL || !sandbox_alive(sb))
		return;
	sandbox_exit_reason(sb, e);
	sandbox_event(sb, LIFE_EXITED);
}

/* Asked for ahead, so that the first creation need not. */
static void
on_images(void *arg, struct link_msg *reply, const struct err *err)
{
	struct manager *m = arg;

	m->asking_images = NULL;
	if (reply != NULL)
		images_dir(m->images, take_fd(&reply->fd[0]));
	else
		log_err(LOG_WARN, err, "no images", NULL);
}

/* ---- making and unmaking ---- */

static int
saved_dir(int dir)
{
	struct err err;
	int fd = dir < 0 ? -1 : file_mkdir_at(dir, "saved", 0700, &err);

	if (dir >= 0 && fd < 0)
		log_err(LOG_ERROR, &err, "workspaces can't be saved", NULL);
	return fd;
}

struct manager *
manager_new(const struct manager_conf *conf)
{
	struct manager *m = xcalloc(1, sizeof *m);

	m->loop = conf->loop;
	m->broker = conf->broker;
	m->journal = conf->journal;
	m->config = conf->config;
	m->generation = conf->generation;
	m->dir = saved_dir(conf->dir);
	m->records_max = RECORDS_MAX;
	m->images = images_new();
	m->saved = xcalloc(conf->config->ntenant + 1, sizeof *m->saved);
	TAILQ_INIT(&m->all);
	TAILQ_INIT(&m->session_list);
	TAILQ_INIT(&m->early);
	TAILQ_INIT(&m->told);
	pools_new(m);
	broker_call_on_exited(m->broker, on_exited, m);
	m->asking_images = broker_images(m->broker, on_images, m);
	adopt_start(m);
	reap_start(m);
	return m;
}

static void
waits_free(struct waits *w)
{
	while (!TAILQ_EMPTY(w))
		wait_free(TAILQ_FIRST(w));
}

void
manager_free(struct manager *m)
{
	struct sandbox *sb;

	if (m == NULL)
		return;
	adopt_stop(m);
	broker_forget(take_ptr(&m->asking_images));
	broker_call_on_exited(m->broker, NULL, NULL);
	loop_unpost(m->loop, m);
	rows_flush(m);
	waits_free(&m->early);
	waits_free(&m->told);
	TAILQ_FOREACH(sb, &m->all, all) {
		sb->pins++; /* until its turn comes */
		waits_free(&sb->waits);
	}
	while ((sb = TAILQ_FIRST(&m->all)) != NULL)
		sandbox_free(sb);
	pools_free(m);
	images_free(m->images);
	table_free(&m->by_id);
	table_free(&m->by_key);
	table_free(&m->by_container);
	table_free(&m->sessions);
	watch_free(m->scan);
	watch_free(m->drain_timer);
	if (m->dir >= 0)
		close(m->dir);
	free(m->saved);
	free(m);
}

/* ---- going through them ---- */

struct sandbox *
manager_next(struct manager *m, int tenant, struct sandbox *sb)
{
	sb = sb == NULL ? TAILQ_FIRST(&m->all) : TAILQ_NEXT(sb, all);
	while (sb != NULL &&
	    (!sb->listed || (tenant >= 0 && sb->rec.tenant != tenant)))
		sb = TAILQ_NEXT(sb, all);
	return sb;
}

/* ---- the end ---- */

static void
drained(void *arg)
{
	struct manager *m = arg;

	watch_stop(m->drain_timer);
	rows_flush(m);
	if (m->drained != NULL)
		m->drained(m->drained_arg);
}

void
drain_check(struct manager *m)
{
	if (!m->draining || m->alive > 0)
		return;
	loop_unpost(m->loop, m);
	loop_post(m->loop, drained, m);
}

static void
drain_late(void *arg, int what)
{
	struct manager *m = arg;
	char left[16];

	(void)what;
	snprintf(left, sizeof left, "%u", m->alive);
	log_say(LOG_WARN, "not all sandboxes ended in time", "left", left,
	    NULL);
	loop_unpost(m->loop, m);
	loop_post(m->loop, drained, m);
}

/* Idle ones keep what is saved of them, whatever auto_cleanup says. */
static void
drain_one(struct sandbox *sb)
{
	bool clean = sb->m->config->auto_cleanup;

	if (sb->rec.state == REC_WARM)
		release_one(sb, "shutdown");
	else if (sb->rec.state == REC_RUNNING && (clean || !sb->ever))
		release_one(sb, "shutdown");
	else if (sb->rec.state == REC_RUNNING && sb->life.state == LIFE_READY)
		recycle(sb, "daemon_restart");
	else if (sb->rec.state == REC_RUNNING && sandbox_alive(sb) &&
	    sb->life.state != LIFE_SAVING && !sb->stopped)
		recycle_unsaved(sb);
	else if (sb->rec.state == REC_ERROR && clean)
		release_one(sb, "shutdown");
}

void
manager_drain(struct manager *m, void (*fn)(void *), void *arg)
{
	auto_free struct sandbox **all = NULL;
	struct sandbox *sb;
	size_t n = 0;

	m->draining = true;
	m->drained = fn;
	m->drained_arg = arg;
	watch_stop(m->scan);
	m->drain_timer = watch_timer(m->loop, drain_late, m);
	watch_arm(m->drain_timer, (int64_t)m->config->drain_timeout * 1000 + 1);
	TAILQ_FOREACH(sb, &m->all, all)
		n++;
	all = xcalloc(n, sizeof *all);
	n = 0;
	TAILQ_FOREACH(sb, &m->all, all) {
		sandbox_pin(sb);
		all[n++] = sb;
	}
	for (size_t i = 0; i < n; i++) {
		if (all[i]->listed)
			drain_one(all[i]);
		sandbox_unpin(all[i]);
	}
	drain_check(m);
}
