#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/inner.h"

#define MOST 2000 /* records a scan */
/* A workspace that nobody wanted for so long (seconds) goes at last. */
#define KEEP (7 * 24 * 3600.0)

/* What one look at all records goes by. */
struct purge {
	struct manager *m;
	double now,
	    ttl;      /* ttl 0: records are kept for good, if there is room */
	bool crowded; /* more records than there shall be */
	size_t share; /* of idle ones, that a tenant has then */
	size_t *idle; /* that it has; by tenant, nobody's last */
};

static size_t *
idle_of(const struct purge *p, const struct sandbox *sb)
{
	size_t n = p->m->config->ntenant;
	int t = sb->rec.tenant;

	return &p->idle[t >= 0 && (size_t)t < n ? (size_t)t : n];
}

static bool
is_idle(const struct sandbox *sb)
{
	return sb->listed &&
	    (sb->rec.state == REC_RECYCLED || sb->rec.state == REC_ERROR ||
		sb->rec.state == REC_REPLACED);
}

static bool
leads_nowhere(const struct sandbox *sb)
{
	struct err err;
	struct sandbox *to = manager_resolve(sb->m, -1, sb->rec.id, true, &err);

	return to == NULL || to->rec.state == REC_RELEASED;
}

/* Records come oldest first: the newest of a crowd stay. */
static bool
has_had_its_time(struct purge *p, const struct sandbox *sb)
{
	const struct record *r = &sb->rec;
	double age = p->now - r->updated_at;
	bool old = p->ttl > 0 && age > p->ttl;

	if (sb->holds > 0)
		return false;
	if (p->crowded && is_idle(sb) && *idle_of(p, sb) > p->share)
		return true;
	switch (r->state) {
	case REC_RELEASED:
		return old || p->crowded;
	case REC_REPLACED: /* its id works as long as there is a sandbox */
		return (old || p->crowded) && leads_nowhere(sb);
	case REC_ERROR:
		return old && age > KEEP;
	case REC_RECYCLED:
		return old && p->now - r->last_active_at > KEEP;
	default:
		return false;
	}
}

static void
drop(struct purge *p, struct sandbox *sb)
{
	if (is_idle(sb))
		--*idle_of(p, sb);
	log_say(sb->saved > 0 ? LOG_WARN : LOG_INFO, "record dropped",
	    "sandbox", sb->rec.id, "state", record_state_name(sb->rec.state),
	    "workspace", sb->saved > 0 ? "deleted" : NULL, "reason",
	    p->crowded ? "too many records" : "old", NULL);
	archive_remove(sb);
	row_delete(sb);
	sandbox_discard(sb);
}

void
purge(struct manager *m)
{
	auto_free size_t *idle = xcalloc(m->config->ntenant + 1, sizeof *idle);
	struct purge p = { m, clock_unix(), m->config->released_ttl,
		m->by_id.n > m->records_max,
		m->records_max / 2 / (m->config->ntenant + 1), idle };
	struct sandbox *sb, *after;
	size_t n = 0;

	TAILQ_FOREACH(sb, &m->all, all)
		if (p.crowded && is_idle(sb))
			++*idle_of(&p, sb);
	for (sb = TAILQ_FIRST(&m->all); sb != NULL && n < MOST; sb = after) {
		after = TAILQ_NEXT(sb, all);
		if (!sb->listed || !has_had_its_time(&p, sb))
			continue;
		if (n++ == 0)
			rows_begin(m);
		drop(&p, sb);
	}
	if (n > 0)
		rows_end(m);
}
