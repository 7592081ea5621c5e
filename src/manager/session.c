#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "manager/inner.h"

/* A session is known by its tenant and its name: two tenants may use one. */
static size_t
key_of(char *key, size_t room, int tenant, const char *name)
{
	return (size_t)snprintf(key, room, "%d:%s", tenant, name);
}

const char *
session_name(const struct session *s)
{
	return strchr(s->key, ':') + 1;
}

struct session *
session_find(struct manager *m, int tenant, const char *name)
{
	static const struct record r;
	char key[sizeof r.session + 16];

	if (strlen(name) >= sizeof r.session)
		return NULL;
	return table_find(&m->sessions, key,
	    key_of(key, sizeof key, tenant, name));
}

static struct session *
session_new(struct manager *m, int tenant, const char *name)
{
	size_t room = strlen(name) + 16;
	struct session *s = xcalloc(1, sizeof *s + room);
	size_t n = key_of(s->key, room, tenant, name);

	s->tenant = tenant;
	TAILQ_INIT(&s->boxes);
	table_add(&m->sessions, &s->node, s->key, n, s);
	TAILQ_INSERT_TAIL(&m->session_list, s, next);
	return s;
}

void
session_add(struct sandbox *sb, const char *name)
{
	struct session *s = session_find(sb->m, sb->rec.tenant, name);

	if (s == NULL)
		s = session_new(sb->m, sb->rec.tenant, name);
	sb->session = s;
	snprintf(sb->rec.session, sizeof sb->rec.session, "%s", name);
	TAILQ_INSERT_TAIL(&s->boxes, sb, in_session);
}

static void
session_drop(struct manager *m, struct session *s)
{
	if (!TAILQ_EMPTY(&s->boxes))
		return;
	table_remove(&m->sessions, &s->node);
	TAILQ_REMOVE(&m->session_list, s, next);
	free(s);
}

void
session_replace(struct sandbox *sb, struct sandbox *next)
{
	struct session *s = sb->session;

	if (s == NULL)
		return;
	next->session = s;
	strcpy(next->rec.session, sb->rec.session);
	TAILQ_INSERT_AFTER(&s->boxes, sb, next, in_session);
	TAILQ_REMOVE(&s->boxes, sb, in_session);
	sb->session = NULL; /* its record keeps the name: spec 1.7 */
}

void
session_leave(struct sandbox *sb)
{
	struct session *s = sb->session;

	if (s == NULL)
		return;
	TAILQ_REMOVE(&s->boxes, sb, in_session);
	sb->session = NULL;
	session_drop(sb->m, s);
}

/* ---- what is asked of them ---- */

static bool
of_tenant(const struct session *s, int tenant)
{
	return tenant < 0 || s->tenant == tenant;
}

json_t *
manager_session(struct manager *m, int tenant, const char *name)
{
	json_t *ids = json_array();
	struct session *s;
	struct sandbox *sb;

	TAILQ_FOREACH(s, &m->session_list, next) {
		if (!of_tenant(s, tenant) || strcmp(session_name(s), name) != 0)
			continue;
		TAILQ_FOREACH(sb, &s->boxes, in_session)
			json_array_append_new(ids, json_string(sb->rec.id));
	}
	return ids;
}

json_t *
manager_session_keys(struct manager *m, int tenant)
{
	json_t *names = json_array();
	struct session *s;

	TAILQ_FOREACH(s, &m->session_list, next)
		if (of_tenant(s, tenant))
			json_array_append_new(names,
			    json_string(session_name(s)));
	return names;
}
