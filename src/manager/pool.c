#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/inner.h"

#define AT_ONCE 2 /* being made for one pool */
#define BACKOFF_MIN 1000
#define BACKOFF_MAX 15000

/* One for each type that is kept warm; NAME and NAME_async share theirs. */
struct pool {
	const struct conf_type *type;
	struct sandboxes warm; /* in_pool; the first is the oldest */
	unsigned n, making;
	int64_t backoff, again; /* ms; clock_ms() */
};

void
pools_new(struct manager *m)
{
	const struct conf_list *names = &m->config->default_types;

	m->pool = xcalloc(names->n, sizeof *m->pool);
	for (size_t i = 0; i < names->n; i++) {
		const char *as;
		struct err err;
		const struct conf_type *t =
		    type_resolve(m, names->at[i], &as, &err);
		bool known = t == NULL;

		for (size_t k = 0; k < m->npool; k++)
			known = known || m->pool[k].type == t;
		if (t == NULL && m->config->pool_size > 0)
			log_err(LOG_WARN, &err, "no pool", "type", as, NULL);
		if (known)
			continue;
		m->pool[m->npool].type = t;
		TAILQ_INIT(&m->pool[m->npool].warm);
		m->npool++;
	}
}

void
pools_free(struct manager *m)
{
	free(m->pool);
}

void
pools_count(const struct manager *m, unsigned *warm, unsigned *making)
{
	*warm = *making = 0;
	for (size_t i = 0; i < m->npool; i++) {
		*warm += m->pool[i].n;
		*making += m->pool[i].making;
	}
}

static struct pool *
pool_of(struct manager *m, const struct conf_type *t)
{
	for (size_t i = 0; i < m->npool; i++)
		if (m->pool[i].type == t)
			return &m->pool[i];
	return NULL;
}

void
pool_expect(struct sandbox *sb)
{
	sb->pool = pool_of(sb->m, sb->type);
	if (sb->pool != NULL)
		sb->pool->making++;
}

static void
pool_make(struct manager *m, struct pool *p)
{
	struct create want = { .tenant = -1 };
	struct sandbox *sb =
	    sandbox_new(m, &want, p->type, p->type->name, true);

	pool_expect(sb);
	create_begin(sb);
}

void
pools_fill(struct manager *m)
{
	uint32_t want = m->config->scan_interval > 0 ? m->config->pool_size : 0;
	struct err err;

	for (size_t i = 0; i < m->npool && m->adopted; i++) {
		struct pool *p = &m->pool[i];

		while (p->n + p->making < want && p->making < AT_ONCE &&
		    clock_ms() >= p->again && create_allowed(m, -1, &err) == 0)
			pool_make(m, p);
	}
}

void
pool_warm(struct sandbox *sb)
{
	struct pool *p = sb->pool;

	if (p != NULL) {
		p->making--;
		p->backoff = 0;
	}
	if (p == NULL || p->n >= sb->m->config->pool_size) {
		sb->pool = NULL;
		release_one(sb, "not wanted any more");
		return;
	}
	TAILQ_INSERT_TAIL(&p->warm, sb, in_pool);
	p->n++;
	pools_fill(sb->m);
}

void
pool_failed(struct sandbox *sb)
{
	struct pool *p = sb->pool;

	if (p == NULL)
		return;
	p->backoff = p->backoff == 0 ? BACKOFF_MIN : p->backoff * 2;
	if (p->backoff > BACKOFF_MAX)
		p->backoff = BACKOFF_MAX;
	p->again = clock_ms() + p->backoff;
	pool_leave(sb);
}

void
pool_leave(struct sandbox *sb)
{
	struct pool *p = sb->pool;
	struct sandbox *s;

	sb->pool = NULL;
	if (p == NULL)
		return;
	TAILQ_FOREACH(s, &p->warm, in_pool)
		if (s == sb) {
			TAILQ_REMOVE(&p->warm, sb, in_pool);
			p->n--;
			return;
		}
	p->making--;
}

/* Is its image still what the name means? */
static bool
fresh(const struct sandbox *sb)
{
	struct err err;
	struct image *now = images_get(sb->m->images, sb->image, &err);
	bool same = now != NULL && image_same(now, sb->made_of);

	image_drop(now);
	return same || sb->made_of == NULL; /* adopted: taken on trust */
}

/*
 * The one to take next: the oldest of the pool; or one that is ready and still
 * rehearses; or, if there is no other way, one on its way.
 */
static struct sandbox *
candidate(struct manager *m, struct pool *p, bool any)
{
	struct sandbox *sb = TAILQ_FIRST(&p->warm);

	if (sb != NULL)
		return sb;
	TAILQ_FOREACH(sb, &m->all, all)
		if (sb->listed && sb->pool == p &&
		    (any || sb->life.state == LIFE_READY))
			return sb;
	return NULL;
}

struct sandbox *
pool_take(struct manager *m, const struct conf_type *type, bool any)
{
	struct pool *p = pool_of(m, type);
	struct sandbox *sb;

	while (p != NULL && (sb = candidate(m, p, any)) != NULL) {
		bool ready = sb->life.state == LIFE_READY;

		pool_leave(sb);
		warm_enough(sb);
		if (fresh(sb) && (ready || any))
			return sb;
		release_one(sb, "its image has changed");
	}
	return NULL;
}
