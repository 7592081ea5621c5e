#include <string.h>
#include "base/log.h"
#include "conf/conf.h"
#include "manager/inner.h"

/* ---- types ---- */

static const char *
default_type(const struct manager *m)
{
	return m->config->default_types.n > 0 ? m->config->default_types.at[0]
					      : "base";
}

const struct conf_type *
type_resolve(const struct manager *m, const char *name, const char **as,
    struct err *err)
{
	const struct conf_type *t;

	*as = name = name != NULL ? name : default_type(m);
	/* A client's own class without an image: it gets the usual one. */
	if (strcmp(name, "dummy") == 0)
		name = default_type(m);
	t = conf_type_find(m->config, name);
	if (t == NULL && strcmp(name, "agentbay") != 0) {
		err_set(err, ERR_INVALID, "'%.100s' is not a valid SandboxType",
		    name);
		return NULL;
	}
	if (t == NULL || t->image == NULL || t->image[0] == '\0') {
		err_set(err, ERR_DENIED,
		    "sandboxes of type '%.100s' are not built yet: no image",
		    name);
		return NULL;
	}
	return t;
}

/* ---- limits ---- */

static unsigned
count_of(const struct manager *m, int tenant)
{
	struct sandbox *sb;
	unsigned n = 0;

	TAILQ_FOREACH(sb, &m->all, all)
		n += sb->listed && sb->rec.tenant == tenant &&
		    sb->rec.state == REC_RUNNING;
	return n;
}

static int
tenant_allowed(const struct manager *m, int tenant, struct err *err)
{
	uint32_t most = 0;

	if (tenant >= 0 && (size_t)tenant < m->config->ntenant)
		most = m->config->tenant[tenant].max_sandboxes;
	if (most > 0 && count_of(m, tenant) >= most)
		return err_set(err, ERR_LIMIT,
		    "the tenant has its %u sandboxes already", most);
	return 0;
}

static int
host_allowed(const struct manager *m, struct err *err)
{
	uint32_t most = m->config->max_instances;
	unsigned n =
	    m->counts.by_state[REC_WARM] + m->counts.by_state[REC_RUNNING];

	if (most > 0 && n >= most)
		return err_set(err, ERR_LIMIT,
		    "there are %u sandboxes; the limit is %u", n, most);
	return 0;
}

int
create_allowed(const struct manager *m, int tenant, struct err *err)
{
	if (m->draining)
		return err_set(err, ERR_BUSY, "hutch is being stopped");
	if (tenant_allowed(m, tenant, err) < 0)
		return -1;
	return host_allowed(m, err);
}

/* ---- creating ---- */

void
create_begin(struct sandbox *sb)
{
	sandbox_list(sb);
	sandbox_event(sb, LIFE_CREATE);
}

static void
bind_session(struct sandbox *sb)
{
	const char *name =
	    json_string_value(json_object_get(sb->rec.meta, "session_ctx_id"));

	if (name != NULL && name[0] != '\0')
		session_add(sb, name);
}

/* A warm one becomes what was asked for. */
static void
bind_warm(struct sandbox *sb, const struct create *c, const char *as)
{
	struct record *r = &sb->rec;

	json_decref(r->meta);
	r->meta = c->meta != NULL ? json_deep_copy(c->meta) : json_object();
	r->tenant = c->tenant;
	snprintf(r->type, sizeof r->type, "%s", as);
	sandbox_state(sb, REC_RUNNING, NULL);
	sandbox_touch(sb);
	bind_session(sb);
	sandbox_save(sb);
}

static int
check_lengths(const struct create *c, const char *as, struct err *err)
{
	static const struct record r;
	const char *session =
	    json_string_value(json_object_get(c->meta, "session_ctx_id"));

	if (session != NULL && strlen(session) >= sizeof r.session)
		return err_set(err, ERR_INVALID,
		    "a session_ctx_id has at most %zu bytes",
		    sizeof r.session - 1);
	if (strlen(as) >= sizeof r.type)
		return err_set(err, ERR_INVALID, "the type's name is too long");
	if (c->mount_dir != NULL && strlen(c->mount_dir) >= sizeof r.mount_dir)
		return err_set(err, ERR_INVALID, "the mount_dir is too long");
	if (c->storage != NULL && strlen(c->storage) >= sizeof r.storage)
		return err_set(err, ERR_INVALID,
		    "the storage_path is too long");
	if (c->net != NULL && strcmp(c->net, "none") != 0 &&
	    strcmp(c->net, "nat") != 0)
		return err_set(err, ERR_INVALID, "net is \"none\" or \"nat\"");
	if (c->dir != NULL && strlen(c->dir) >= 256)
		return err_set(err, ERR_INVALID, "the dir is too long");
	return 0;
}

static bool
fits_pool(const struct create *c)
{
	return c->pooled && c->image == NULL && c->dir == NULL &&
	    c->mount_dir == NULL && c->net == NULL &&
	    (c->env == NULL || c->env[0] == NULL);
}

/* A wait for sb, which is there and ready, or on its way. */
static struct wait *
wait_created(struct sandbox *sb, manager_fn *fn, void *arg)
{
	struct wait *w = wait_new(sb->m, WAIT_READY, sb, fn, arg);

	w->creates = true;
	if (sb->life.state == LIFE_READY)
		wait_tell(w, sb, NULL);
	return w;
}

static struct wait *
create_fresh(struct manager *m, const struct create *c,
    const struct conf_type *type, const char *as, manager_fn *fn, void *arg)
{
	struct create want = *c;
	struct sandbox *sb;
	struct wait *w;

	if (!m->config->allow_mount_dir)
		want.mount_dir = NULL; /* as upstream: it gets its own */
	sb = sandbox_new(m, &want, type, as, false);
	sb->fresh = true;
	w = wait_created(sb, fn, arg);
	create_begin(sb);
	bind_session(sb);
	return w;
}

struct wait *
manager_create(struct manager *m, const struct create *c, manager_fn *fn,
    void *arg, struct err *err)
{
	const struct conf_type *type;
	struct sandbox *sb = NULL;
	const char *as;

	type = type_resolve(m, c->type, &as, err);
	if (type == NULL || check_lengths(c, as, err) < 0 ||
	    tenant_allowed(m, c->tenant, err) < 0) {
		log_err(LOG_WARN, err, "create refused", "type", c->type, NULL);
		return NULL;
	}
	if (fits_pool(c) && !m->draining)
		sb = pool_take(m, type, host_allowed(m, err) < 0);
	if (sb != NULL) {
		bind_warm(sb, c, as);
		m->counts.created++;
		pools_fill(m);
		return wait_created(sb, fn, arg);
	}
	if (create_allowed(m, c->tenant, err) < 0) {
		log_err(LOG_WARN, err, "create refused", "type", as, NULL);
		return NULL;
	}
	m->counts.created++;
	return create_fresh(m, c, type, as, fn, arg);
}

int
manager_image_id(const struct manager *m, const char *type, const char *image,
    uint8_t id[32], struct err *err)
{
	const struct conf_type *t;
	struct image *i;
	const char *as;

	t = type_resolve(m, type, &as, err);
	if (t == NULL)
		return -1;
	i = images_get(m->images, image != NULL ? image : t->image, err);
	if (i == NULL)
		return -1;
	memset(id, 0, 32);
	if (i->nlayer > 0) /* its name tells those below it */
		memcpy(id, i->layer[i->nlayer - 1], BROKER_DIGEST);
	image_drop(i);
	return 0;
}
