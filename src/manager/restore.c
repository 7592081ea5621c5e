#include <string.h>
#include "base/log.h"
#include "conf/conf.h"
#include "manager/inner.h"

/*
 * A recycled sandbox comes back as another one, and its record leads there.
 * That is said before the new one is made: it is the lock that keeps two
 * callers from making two.
 */

/* Whoever led to sb leads to next: no chain grows, however often. */
static void
redirect(struct sandbox *sb, struct sandbox *next)
{
	struct sandbox *s;

	strcpy(sb->rec.redirect, next->rec.id);
	TAILQ_FOREACH(s, &sb->m->all, all)
		if (s->listed && s->rec.state == REC_REPLACED &&
		    strcmp(s->rec.redirect, sb->rec.id) == 0) {
			strcpy(s->rec.redirect, next->rec.id);
			sandbox_save(s);
		}
}

static struct sandbox *
from_pool(struct sandbox *sb)
{
	if (sb->rec.mount_dir[0] != '\0' || sb->dir != NULL ||
	    (sb->env != NULL && sb->env[0] != NULL) || sb->image == NULL ||
	    strcmp(sb->image, sb->type->image) != 0)
		return NULL;
	return pool_take(sb->m, sb->type, false);
}

static struct sandbox *
made_anew(struct sandbox *sb)
{
	struct create want = {
		.tenant = sb->rec.tenant,
		.image = sb->image,
		.dir = sb->dir,
		.env = (const char *const *)sb->env,
		.mount_dir =
		    sb->rec.mount_dir[0] != '\0' ? sb->rec.mount_dir : NULL,
		.storage = sb->rec.storage[0] != '\0' ? sb->rec.storage : NULL,
	};
	struct sandbox *next =
	    sandbox_new(sb->m, &want, sb->type, sb->rec.type, false);

	next->net = sb->net;
	return next;
}

/* Everything that is not the sandbox's own goes over to the next one. */
static void
hand_over(struct sandbox *sb, struct sandbox *next)
{
	struct record *r = &next->rec;

	r->tenant = sb->rec.tenant;
	strcpy(r->type, sb->rec.type);
	json_decref(r->meta);
	r->meta = json_deep_copy(sb->rec.meta);
	json_object_set_new(r->meta, "sandbox_type", json_string(r->type));
	session_replace(sb, next);
	next->replaces = sb;
	sandbox_pin(sb);
}

struct sandbox *
restore(struct sandbox *sb, struct err *err)
{
	struct manager *m = sb->m;
	struct sandbox *next = m->draining ? NULL : from_pool(sb);
	bool warm = next != NULL;

	if (!warm && create_allowed(m, sb->rec.tenant, err) < 0)
		return NULL;
	if (!warm)
		next = made_anew(sb);
	hand_over(sb, next);
	if (!warm)
		create_begin(next);
	redirect(sb, next);
	sandbox_state(sb, REC_REPLACED, NULL);
	if (warm) {
		sandbox_state(next, REC_RUNNING, NULL);
		if (sb->saved > 0)
			sandbox_event(next, LIFE_LOAD);
		else
			restored(next);
		pools_fill(m);
	}
	sandbox_save(next);
	return next;
}

void
restored(struct sandbox *next)
{
	struct sandbox *sb = next->replaces;

	next->replaces = NULL;
	next->m->counts.restored++;
	archive_remove(sb); /* it is inside the next one now */
	sandbox_save(sb);
	log_say(LOG_NOTE, "restored", "sandbox", next->rec.id, "instead_of",
	    sb->rec.id, NULL);
	sandbox_unpin(sb);
}

/* As if nobody had asked; the next one may have more luck. */
void
restore_failed(struct sandbox *next)
{
	struct sandbox *sb = next->replaces;

	next->replaces = NULL;
	if (sb->listed && sb->rec.state == REC_REPLACED) {
		double at = sb->rec.recycled_at;

		session_replace(next, sb);
		redirect(next, sb);
		next->rec.redirect[0] = sb->rec.redirect[0] = '\0';
		sandbox_state(sb, REC_RECYCLED, NULL);
		sb->rec.recycled_at = at;
	}
	sandbox_unpin(sb);
}
