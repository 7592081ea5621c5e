#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "manager/inner.h"
#include "wire/loop.h"

#define PREFIX "runtime_sandbox_container_"

static const char *const states[REC_STATES] = {
	[REC_WARM] = "warm",
	[REC_RUNNING] = "running",
	[REC_RECYCLED] = "recycled",
	[REC_REPLACED] = "replaced",
	[REC_ERROR] = "error",
	[REC_RELEASED] = "released",
};

const char *
record_state_name(enum record_state state)
{
	return states[state];
}

struct sandbox *
sandbox_of(struct life *l)
{
	return (struct sandbox *)l;
}

const struct record *
sandbox_record(const struct sandbox *sb)
{
	return &sb->rec;
}

struct guest *
sandbox_guest(const struct sandbox *sb)
{
	return sb->life.state == LIFE_READY || sb->early ? sb->guest : NULL;
}

const char *
sandbox_key(const struct sandbox *sb)
{
	return sb->hex;
}

bool
sandbox_alive(const struct sandbox *sb)
{
	return sb->life.state != LIFE_NEW && sb->life.state != LIFE_DEAD;
}

/* ---- names ---- */

static void
random_bytes(void *out, size_t n)
{
	/* At most 256 bytes come whole or not at all. */
	if (getrandom(out, n, 0) != (ssize_t)n)
		abort();
}

void
random_id(char out[26])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint8_t bytes[64];
	size_t n = 0;

	while (n < 25) {
		random_bytes(bytes, sizeof bytes);
		for (size_t i = 0; i < sizeof bytes && n < 25; i++)
			if (bytes[i] < 252) /* each letter alike: 7 * 36 */
				out[n++] = digits[bytes[i] % 36];
	}
	out[25] = '\0';
}

/* A client takes ids that begin so for somebody else's. */
const char *
sandbox_prefix(const struct config *c)
{
	if (c->prefix == NULL || strncmp(c->prefix, "session-", 8) == 0 ||
	    strlen(c->prefix) > 38)
		return PREFIX;
	return c->prefix;
}

static void
name_it(struct sandbox *sb)
{
	struct record *r = &sb->rec;
	uint8_t bytes[48];

	random_id(r->session_id);
	snprintf(r->id, sizeof r->id, "%s%s", sandbox_prefix(sb->m->config),
	    r->session_id);
	random_bytes(bytes, sizeof bytes);
	hex_put(r->container_id, bytes, 32);
	hex_put(r->token, bytes + 32, 16);
}

void
sandbox_rekey(struct sandbox *sb)
{
	table_remove(&sb->m->by_key, &sb->by_key);
	random_bytes(sb->key, sizeof sb->key);
	hex_put(sb->hex, sb->key, sizeof sb->key);
	table_add(&sb->m->by_key, &sb->by_key, sb->key, sizeof sb->key, sb);
}

/* Its form matters: a client finds its own classes in it (spec 1.4). */
void
sandbox_version(struct sandbox *sb)
{
	const struct config *c = sb->m->config;
	const char *registry = c->image_registry ? c->image_registry : "";
	const char *stem = sb->type->name;
	size_t n = strlen(stem);

	if (n > 6 && strcmp(stem + n - 6, "_async") == 0)
		n -= 6;
	if (sb->dir != NULL)
		snprintf(sb->rec.version, sizeof sb->rec.version, "dir:%s",
		    sb->dir);
	else if (strcmp(sb->image, sb->type->image) != 0)
		snprintf(sb->rec.version, sizeof sb->rec.version, "%s",
		    sb->image);
	else
		snprintf(sb->rec.version, sizeof sb->rec.version,
		    "%s%s%s/runtime-sandbox-%.*s:%s", registry,
		    registry[0] != '\0' ? "/" : "", c->image_namespace, (int)n,
		    stem, c->image_tag);
}

/* ---- making and unmaking ---- */

static char **
env_copy(const char *const *env)
{
	size_t n = 0;
	char **copy;

	if (env == NULL)
		return NULL;
	while (env[n] != NULL)
		n++;
	copy = xcalloc(n + 1, sizeof *copy);
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(env[i]);
	return copy;
}

static void
sandbox_timer(void *arg, int what)
{
	(void)what;
	sandbox_event(arg, LIFE_TIMEOUT);
}

struct sandbox *
sandbox_new(struct manager *m, const struct create *c,
    const struct conf_type *type, const char *as, bool warm)
{
	struct sandbox *sb = xcalloc(1, sizeof *sb);
	struct record *r = &sb->rec;
	const char *net = c->net != NULL ? c->net : type->net;

	sb->m = m;
	sb->life.acts = sandbox_acts;
	sb->type = type;
	sb->dir = c->dir != NULL ? xstrdup(c->dir) : NULL;
	if (c->dir == NULL)
		sb->image = xstrdup(c->image != NULL ? c->image : type->image);
	sb->env = env_copy(c->env);
	sb->net = net != NULL && strcmp(net, "nat") == 0 ? BROKER_NET_NAT
							 : BROKER_NET_NONE;
	sb->timer = watch_timer(m->loop, sandbox_timer, sb);
	TAILQ_INIT(&sb->waits);
	TAILQ_INSERT_TAIL(&m->all, sb, all);
	name_it(sb);
	sandbox_version(sb);
	snprintf(r->type, sizeof r->type, "%s", as);
	snprintf(r->mount_dir, sizeof r->mount_dir, "%s",
	    c->mount_dir != NULL ? c->mount_dir : "");
	snprintf(r->storage, sizeof r->storage, "%s",
	    c->storage != NULL ? c->storage : "");
	r->tenant = warm ? -1 : c->tenant;
	r->state = warm ? REC_WARM : REC_RUNNING;
	r->meta = c->meta != NULL ? json_deep_copy(c->meta) : json_object();
	r->created_at = r->updated_at = clock_unix();
	r->last_active_at = warm ? 0 : r->created_at;
	return sb;
}

void
sandbox_list(struct sandbox *sb)
{
	struct manager *m = sb->m;

	table_add(&m->by_id, &sb->by_id, sb->rec.id, strlen(sb->rec.id), sb);
	table_add(&m->by_container, &sb->by_container, sb->rec.container_id,
	    strlen(sb->rec.container_id), sb);
	m->counts.by_state[sb->rec.state]++;
	sb->listed = true;
}

void
sandbox_unlist(struct sandbox *sb)
{
	struct manager *m = sb->m;

	if (!sb->listed)
		return;
	sb->listed = false;
	session_leave(sb);
	pool_leave(sb);
	table_remove(&m->by_id, &sb->by_id);
	table_remove(&m->by_container, &sb->by_container);
	m->counts.by_state[sb->rec.state]--;
}

void
sandbox_free(struct sandbox *sb)
{
	sandbox_unlist(sb);
	sandbox_quiet(sb);
	TAILQ_REMOVE(&sb->m->all, sb, all);
	table_remove(&sb->m->by_key, &sb->by_key);
	watch_free(sb->timer);
	image_drop(sb->made_of);
	json_decref(sb->rec.meta);
	for (char **e = sb->env; e != NULL && *e != NULL; e++)
		free(*e);
	free(sb->env);
	free(sb->image);
	free(sb->dir);
	free(sb);
}

/* Nobody can find it; nothing runs; nobody holds it. */
static void
free_if_done(struct sandbox *sb)
{
	if (!sb->listed && sb->holds == 0 && sb->pins == 0 &&
	    TAILQ_EMPTY(&sb->waits) && !sandbox_alive(sb))
		sandbox_free(sb);
}

void
sandbox_discard(struct sandbox *sb)
{
	sandbox_unlist(sb);
	free_if_done(sb);
}

void
sandbox_pin(struct sandbox *sb)
{
	sb->pins++;
}

void
sandbox_unpin(struct sandbox *sb)
{
	sb->pins--;
	free_if_done(sb);
}

void
sandbox_hold(struct sandbox *sb)
{
	sb->holds++;
	sandbox_touch(sb);
}

void
sandbox_drop(struct sandbox *sb)
{
	sb->holds--;
	sandbox_touch(sb);
	free_if_done(sb);
}

/* ---- what happens to its record ---- */

void
sandbox_touch(struct sandbox *sb)
{
	double now = clock_unix();
	struct sandbox *s;

	sb->rec.last_active_at = now;
	sb->save_failures = 0;
	sb->dirty = true;
	if (sb->session == NULL)
		return;
	TAILQ_FOREACH(s, &sb->session->boxes, in_session)
		if (s->rec.state == REC_RUNNING) {
			s->rec.last_active_at = now;
			s->dirty = true;
		}
}

void
sandbox_state(struct sandbox *sb, enum record_state state, const char *reason)
{
	struct record *r = &sb->rec;
	double now = clock_unix();

	if (sb->listed) {
		sb->m->counts.by_state[r->state]--;
		sb->m->counts.by_state[state]++;
	}
	log_say(LOG_INFO, "sandbox", "sandbox", r->id, "key", sb->hex, "was",
	    states[r->state], "is", states[state], "reason", reason, NULL);
	r->state = state;
	r->updated_at = now;
	if (reason != NULL)
		snprintf(r->reason, sizeof r->reason, "%s", reason);
	if (state == REC_RECYCLED)
		r->recycled_at = now;
	if (state == REC_RELEASED)
		r->released_at = now;
	sandbox_save(sb);
}
