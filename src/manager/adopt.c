#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "manager/broker_call.h"
#include "manager/inner.h"
#include "wire/link.h"

/*
 * After a restart of the front: records come from the journal, what really
 * lives from the broker.  Records of a daemon before this one are recycled, so
 * that their ids restore; a live sandbox of no record is stopped.
 */

static void ask_page(struct manager *, uint32_t from);

static void
on_orphan(void *arg, struct link_msg *reply, const struct err *err)
{
	(void)arg;
	(void)reply;
	if (err != NULL)
		log_err(LOG_WARN, err, "orphan not stopped", NULL);
}

static void
orphan(struct manager *m, const uint8_t *id)
{
	char hex[2 * BROKER_ID + 1];

	hex_put(hex, id, BROKER_ID);
	log_say(LOG_WARN, "a sandbox of no record is stopped", "key", hex,
	    NULL);
	broker_stop(m->broker, id, on_orphan, NULL);
}

static struct sandbox *
by_key(struct manager *m, const uint8_t *id)
{
	struct sandbox *sb;

	/* Keys of former lives are in no table: this happens once. */
	TAILQ_FOREACH(sb, &m->all, all)
		if (memcmp(sb->key, id, BROKER_ID) == 0)
			return sb;
	return NULL;
}

static bool
should_live(const struct sandbox *sb)
{
	return (sb->rec.state == REC_RUNNING || sb->rec.state == REC_WARM) &&
	    !sb->stopped;
}

static void
adopt(struct manager *m, const uint8_t *id)
{
	struct sandbox *sb = by_key(m, id);

	if (sb != NULL && sandbox_alive(sb))
		return; /* made since we asked */
	if (sb == NULL || !should_live(sb)) {
		orphan(m, id);
		return;
	}
	sb->found = true;
	if (sb->rec.state == REC_WARM)
		pool_expect(sb);
	table_add(&m->by_key, &sb->by_key, sb->key, sizeof sb->key, sb);
	sandbox_event(sb, sb->rec.paused ? LIFE_FROZEN : LIFE_ATTACH);
}

/* Not among the living: with its daemon, or while no front looked. */
static void
gone(struct sandbox *sb)
{
	if (sb->rec.state == REC_WARM) {
		row_delete(sb);
		sandbox_discard(sb);
	} else if (sb->m->generation <= 1) {
		sb->rec.paused = false;
		sandbox_state(sb, REC_RECYCLED, "daemon_restart");
	} else {
		sandbox_state(sb, REC_ERROR, "ended while the front was away");
	}
}

/* A replacement that never came up: its old one is there to be restored. */
static void
mend(struct sandbox *sb)
{
	struct err err;

	if (sb->rec.state == REC_REPLACED &&
	    manager_resolve(sb->m, -1, sb->rec.id, true, &err) == NULL) {
		sb->rec.redirect[0] = '\0';
		if (sb->rec.session[0] != '\0')
			session_add(sb, sb->rec.session);
		sandbox_state(sb, REC_RECYCLED, NULL);
	}
}

static void
finish(struct manager *m)
{
	struct sandbox *sb, *after;

	m->adopted = true;
	for (sb = TAILQ_FIRST(&m->all); sb != NULL; sb = after) {
		after = TAILQ_NEXT(sb, all);
		if (sb->listed && should_live(sb) && !sandbox_alive(sb))
			gone(sb);
		else if (sb->listed)
			mend(sb);
	}
	if (!m->incomplete)
		archives_sweep(m);
	waits_early(m);
	pools_fill(m);
}

static void
on_page(void *arg, struct link_msg *reply, const struct err *err)
{
	struct manager *m = arg;
	struct broker_live page;

	m->adopting = NULL;
	if (reply == NULL) {
		log_err(LOG_ERROR, err, "who lives?", NULL);
		finish(m);
		return;
	}
	memcpy(&page, reply->body, sizeof page);
	if (page.n > BROKER_PAGE)
		page.n = BROKER_PAGE;
	for (uint32_t i = 0; i < page.n; i++)
		adopt(m, page.at[i].id);
	m->listed += page.n;
	if (page.n == 0 || m->listed >= page.total)
		finish(m);
	else
		ask_page(m, m->listed);
}

static void
ask_page(struct manager *m, uint32_t from)
{
	m->adopting = broker_live(m->broker, from, on_page, m);
}

void
adopt_start(struct manager *m)
{
	rows_read(m);
	ask_page(m, 0);
}

void
adopt_stop(struct manager *m)
{
	broker_forget(take_ptr(&m->adopting));
}
