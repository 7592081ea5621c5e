#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/inner.h"
#include "wire/loop.h"

/* ---- sessions that nobody touches ---- */

/* Busy, or touched since: leave all of it alone. */
static bool
session_wanted(const struct session *s, double since)
{
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &s->boxes, in_session)
		if (sb->rec.state == REC_RUNNING &&
		    (sb->holds > 0 || sb->rec.last_active_at > since))
			return true;
	return false;
}

int
recycle(struct sandbox *sb, const char *reason)
{
	if (sb->rec.state != REC_RUNNING)
		return -1;
	snprintf(sb->rec.reason, sizeof sb->rec.reason, "%s", reason);
	if (sb->stopped) { /* its workspace is on disk already */
		sb->stopped = false;
		sb->goal = GOAL_LIVE;
		sandbox_state(sb, REC_RECYCLED, reason);
		return 0;
	}
	if (sb->life.state != LIFE_READY)
		return -1;
	sb->goal = GOAL_RECYCLE;
	return sandbox_event(sb, LIFE_SAVE);
}

void
recycle_saved(struct sandbox *sb)
{
	auto_free char *reason = xstrdup(sb->rec.reason);

	sb->m->counts.reaped++;
	sandbox_state(sb, REC_RECYCLED, reason);
}

void
recycle_unsaved(struct sandbox *sb)
{
	log_say(LOG_WARN, "workspace lost", "sandbox", sb->rec.id, "reason",
	    "hutch is being stopped", NULL);
	sb->goal = GOAL_RECYCLE;
	sandbox_state(sb, REC_RECYCLED, "daemon_restart, workspace lost");
	sandbox_event_soon(sb, LIFE_STOP);
}

static void
reap_session(struct session *s)
{
	struct sandbox *sb, *after;

	/* Recycling takes nothing out of a session. */
	for (sb = TAILQ_FIRST(&s->boxes); sb != NULL; sb = after) {
		after = TAILQ_NEXT(sb, in_session);
		if (clock_ms() < sb->save_again)
			continue;
		if (recycle(sb, "heartbeat_timeout") == 0)
			log_say(LOG_NOTE, "idle", "sandbox", sb->rec.id,
			    "session", sb->rec.session, NULL);
	}
}

static void
reap(struct manager *m)
{
	double since = clock_unix() - m->config->heartbeat_timeout;
	struct session *s;

	TAILQ_FOREACH(s, &m->session_list, next)
		if (!session_wanted(s, since))
			reap_session(s);
}

/* ---- the scan ---- */

void
reap_scan(struct manager *m)
{
	if (!m->adopted || m->draining)
		return;
	if (m->config->scan_interval > 0)
		reap(m);
	purge(m);
	pools_fill(m);
	rows_flush(m);
}

static void
scan(void *arg, int what)
{
	struct manager *m = arg;
	int64_t every = m->config->scan_interval;

	(void)what;
	watch_arm(m->scan, (every > 0 ? every : 1) * 1000);
	reap_scan(m);
}

void
reap_start(struct manager *m)
{
	m->scan = watch_timer(m->loop, scan, m);
	watch_arm(m->scan, 1000);
}
