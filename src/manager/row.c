#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/inner.h"
#include "store/journal.h"

static const char
    *const nets[] = { [BROKER_NET_NONE] = "none", [BROKER_NET_NAT] = "nat" };

static void
say(const struct err *err, const char *id)
{
	log_err(LOG_ERROR, err, "journal", "sandbox", id, NULL);
}

/* ---- out ---- */

static const char *
tenant_name(const struct sandbox *sb)
{
	const struct config *c = sb->m->config;
	int t = sb->rec.tenant;

	return t >= 0 && (size_t)t < c->ntenant ? c->tenant[t].name : "";
}

static char *
env_text(char *const *env)
{
	json_t *list = json_array();
	char *text;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		json_array_append_new(list,
		    json_stringn(env[i], strlen(env[i])));
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

void
sandbox_save(struct sandbox *sb)
{
	const struct record *r = &sb->rec;
	auto_free char *meta = NULL, *env = NULL;
	struct journal_row row;
	struct err err;

	sb->dirty = false;
	/* What never was ready has no owner yet: it is not to outlive us. */
	if (sb->m->journal == NULL || !sb->listed || !sb->ever)
		return;
	meta = json_dumps(r->meta, JSON_COMPACT);
	env = env_text(sb->env);
	row = (struct journal_row){
		.id = r->id,
		.session_id = r->session_id,
		.container_id = r->container_id,
		.token = r->token,
		.version = r->version,
		.type = r->type,
		.session = r->session,
		.redirect = r->redirect,
		.reason = r->reason,
		.mount_dir = r->mount_dir,
		.storage = r->storage,
		.tenant = tenant_name(sb),
		.state = record_state_name(r->state),
		.meta = meta,
		.image = sb->image,
		.dir = sb->dir,
		.env = env,
		.net = nets[sb->net],
		.paused = r->paused,
		.stopped = sb->stopped,
		.saved = (int64_t)sb->saved,
		.created_at = r->created_at,
		.last_active_at = r->last_active_at,
		.recycled_at = r->recycled_at,
		.released_at = r->released_at,
		.updated_at = r->updated_at,
	};
	memcpy(row.key, sb->key, sizeof row.key);
	if (journal_put(sb->m->journal, &row, &err) < 0)
		say(&err, r->id);
}

void
rows_flush(struct manager *m)
{
	struct sandbox *sb;
	struct err err;
	bool any = false;

	TAILQ_FOREACH(sb, &m->all, all)
		any = any || (sb->dirty && sb->listed);
	if (m->journal == NULL || !any)
		return;
	if (journal_begin(m->journal, &err) < 0) {
		say(&err, NULL);
		return;
	}
	TAILQ_FOREACH(sb, &m->all, all) {
		if (!sb->dirty || !sb->listed)
			continue;
		sb->dirty = false;
		if (journal_touch(m->journal, sb->rec.id,
			sb->rec.last_active_at, &err) < 0)
			say(&err, sb->rec.id);
	}
	if (journal_end(m->journal, &err) < 0)
		say(&err, NULL);
}

void
rows_begin(struct manager *m)
{
	struct err err;

	if (m->journal != NULL && journal_begin(m->journal, &err) < 0)
		say(&err, NULL);
}

void
rows_end(struct manager *m)
{
	struct err err;

	if (m->journal != NULL && journal_end(m->journal, &err) < 0)
		say(&err, NULL);
}

void
row_delete(struct sandbox *sb)
{
	struct err err;

	if (sb->m->journal != NULL &&
	    journal_delete(sb->m->journal, sb->rec.id, &err) < 0)
		say(&err, sb->rec.id);
}

/* ---- in ---- */

static int
tenant_index(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->ntenant; i++)
		if (strcmp(c->tenant[i].name, name) == 0)
			return (int)i;
	/* Without tenants whoever asks is number 0. */
	return c->ntenant == 0 ? 0 : -1;
}

static enum record_state
state_of(const char *name)
{
	for (int s = 0; s < REC_STATES; s++)
		if (strcmp(record_state_name((enum record_state)s), name) == 0)
			return (enum record_state)s;
	return REC_ERROR;
}

static void
text_in(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
}
#define TEXT_IN(r, row, member)                                                \
	text_in((r)->member, sizeof(r)->member, (row)->member)

static void
record_in(struct record *r, const struct journal_row *row)
{
	json_t *meta = json_loads(row->meta, 0, NULL);

	TEXT_IN(r, row, id);
	TEXT_IN(r, row, session_id);
	TEXT_IN(r, row, container_id);
	TEXT_IN(r, row, token);
	TEXT_IN(r, row, version);
	TEXT_IN(r, row, type);
	TEXT_IN(r, row, redirect);
	TEXT_IN(r, row, reason);
	TEXT_IN(r, row, mount_dir);
	TEXT_IN(r, row, storage);
	r->state = state_of(row->state);
	r->paused = row->paused != 0;
	r->created_at = row->created_at;
	r->last_active_at = row->last_active_at;
	r->recycled_at = row->recycled_at;
	r->released_at = row->released_at;
	r->updated_at = row->updated_at;
	if (json_is_object(meta)) {
		json_decref(r->meta);
		r->meta = meta;
	} else {
		json_decref(meta);
	}
}

static void
env_in(struct sandbox *sb, const char *text)
{
	json_t *list = json_loads(text, 0, NULL), *v;
	size_t i, n = 0;

	if (json_array_size(list) > 0)
		sb->env = xcalloc(json_array_size(list) + 1, sizeof *sb->env);
	json_array_foreach(list, i, v)
		if (json_is_string(v))
			sb->env[n++] = xstrdup(json_string_value(v));
	json_decref(list);
}

static void
one_in(void *arg, const struct journal_row *row)
{
	struct manager *m = arg;
	const char *as;
	struct err err;
	/* Its type may have left the configuration: the usual one will do. */
	const struct conf_type *t = type_resolve(m, row->type, &as, &err);
	struct create want = {
		.tenant = tenant_index(m->config, row->tenant),
		.image = row->image[0] != '\0' ? row->image : NULL,
		.dir = row->dir[0] != '\0' ? row->dir : NULL,
		.net = row->net,
	};
	struct sandbox *sb;

	if (t == NULL)
		t = type_resolve(m, NULL, &as, &err);
	if (t == NULL) {
		log_err(LOG_ERROR, &err, "record left out", "sandbox", row->id,
		    NULL);
		m->incomplete = true;
		return;
	}
	sb = sandbox_new(m, &want, t, row->type,
	    strcmp(row->state, "warm") == 0);
	record_in(&sb->rec, row);
	env_in(sb, row->env);
	sb->stopped = row->stopped != 0;
	sb->ever = true;
	memcpy(sb->key, row->key, sizeof sb->key);
	hex_put(sb->hex, sb->key, sizeof sb->key);
	sandbox_list(sb);
	if (row->session[0] != '\0' &&
	    (sb->rec.state == REC_RUNNING || sb->rec.state == REC_RECYCLED ||
		sb->rec.state == REC_ERROR))
		session_add(sb, row->session);
	TEXT_IN(&sb->rec, row, session);
	if (row->saved > 0)
		archive_found(sb, (uint64_t)row->saved);
}

void
rows_read(struct manager *m)
{
	struct err err;

	if (m->journal != NULL && journal_each(m->journal, one_in, m, &err) < 0)
		say(&err, NULL);
}
