#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/blanks.h"
#include "daemon/broker.h"
#include "daemon/check.h"
#include "daemon/later.h"
#include "daemon/serve.h"
#include "daemon/warm.h"
#include "daemon/wayout.h"
#include "isolator/backend.h"
#include "isolator/net.h"
#include "wire/loop.h"

_Static_assert((int)BACKEND_STEPS <= BROKER_STEPS, "steps fit the answer");
_Static_assert(sizeof(struct usage) == sizeof(struct broker_usage),
    "usage travels as it is");

/* ---- its end ---- */

static enum broker_end
why_ended(struct broker *b, const struct live *l)
{
	struct usage u = { 0 };
	struct err err;

	if (l->starved)
		return BROKER_END_MEMORY;
	if (l->stopping)
		return BROKER_END_STOP;
	if (b->does->backend->usage(&l->instance, &u, &err) == 0 &&
	    u.oom_kills > 0)
		return BROKER_END_MEMORY;
	return BROKER_END_EXIT;
}

static void
tell_end(struct broker *b, const struct live *l, enum broker_end end,
    int status)
{
	static const char *const why[BROKER_ENDS] = {
		[BROKER_END_EXIT] = "exit",
		[BROKER_END_STOP] = "stop",
		[BROKER_END_MEMORY] = "memory",
	};
	struct broker_exited told = { .end = end, .status = status };
	struct link_msg m = { .type = BROKER_EXITED, .len = sizeof told };
	auto_free char *text = xasprintf("%d", status);

	memcpy(told.id, l->id, sizeof told.id);
	memcpy(m.body, &told, sizeof told);
	log_say(LOG_INFO, "sandbox ended", "sandbox", l->name, "reason",
	    why[end], "status", text, NULL);
	broker_tell(b, &m);
}

/* wait(2)'s form of what waitid(2) says. */
static int
wait_status(int pidfd)
{
	siginfo_t si = { 0 };

	if (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0)
		return 0;
	return si.si_code == CLD_EXITED ? (si.si_status & 0xff) << 8
					: si.si_status & 0x7f;
}

static void
ended(void *arg, int what)
{
	struct live *l = arg;
	struct broker *b = l->of;
	int status = wait_status(l->instance.pidfd);

	(void)what;
	tell_end(b, l, why_ended(b, l), status);
	watch_free(take_ptr(&l->end)); /* before its descriptor is closed */
	later_drop(b, &l->instance);
	later_close(b, take_fd(&l->netns));
	slots_give(b->slots, l->slot);
	boxes_remove(b->boxes, l);
	b->idle(b);
}

/* The kernel ended one process of it; half a sandbox is worse than none. */
static void
starved(void *arg, int what)
{
	struct live *l = arg;
	struct err err;

	(void)what;
	watch_stop(l->memory);
	l->starved = true;
	if (l->of->does->backend->stop(&l->instance, &err) < 0)
		log_err(LOG_ERROR, &err, "not stopped", "sandbox", l->name,
		    NULL);
}

static void
watch_live(struct broker *b, struct live *l)
{
	struct err err;

	l->of = b;
	l->end = watch_fd(b->loop, l->instance.pidfd, WATCH_READ, ended, l);
	l->oom = b->does->oom_fd(b->host, &l->instance, &err);
	if (l->oom >= 0)
		l->memory = watch_fd(b->loop, l->oom, WATCH_READ, starved, l);
	else if (err.code != ERR_MISSING)
		log_err(LOG_WARN, &err, "memory is not watched", "sandbox",
		    l->name, NULL);
}

/* ---- BUILD ---- */

/* What a build holds while it goes on. */
struct build {
	int layer[BROKER_LAYERS];
	size_t nlayer;
	int mount[BROKER_MOUNTS];
	size_t nmount;
};

static void
build_close(struct build *w)
{
	for (size_t i = 0; i < w->nlayer; i++)
		close(w->layer[i]);
	for (size_t i = 0; i < w->nmount; i++)
		close(w->mount[i]);
}

/* What is behind a directory in a path that begins with it; NULL: it doesn't */
static const char *
below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	if (strncmp(path, dir, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	path += n;
	while (*path == '/')
		path++;
	return *path != '\0' ? path : ".";
}

/* A directory of the host, if the operator lets go of it. */
static int
open_allowed(const struct config *c, const char *path, struct err *err)
{
	for (size_t i = 0; i < c->mount_allow.n; i++) {
		const char *rest = below(c->mount_allow.at[i], path);
		auto_fd int dir = -1;

		if (rest == NULL)
			continue;
		dir = open(c->mount_allow.at[i],
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return err_sys(err, "mount_allow %s",
			    c->mount_allow.at[i]);
		return path_open(dir, rest, O_RDONLY | O_DIRECTORY, 0,
		    PATH_BENEATH, err);
	}
	return err_set(err, ERR_DENIED,
	    "%s is not below a directory of mount_allow", path);
}

static int
open_mount(const struct config *c, const struct broker_mount *m,
    struct err *err)
{
	for (size_t i = 0; i < c->readonly_mounts.n; i++) {
		const char *bind = c->readonly_mounts.at[i];
		size_t n = strcspn(bind, ":");
		int fd;

		if (!m->readonly || strlen(m->from) != n ||
		    memcmp(m->from, bind, n) != 0)
			continue;
		fd = open(m->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd >= 0 ? fd : err_sys(err, "%s", m->from);
	}
	return open_allowed(c, m->from, err);
}

static int
open_dir(struct broker *b, const char *dir, struct err *err)
{
	uint8_t handle[BROKER_ID];
	int fd;

	if (dir[0] != '#')
		return open_allowed(b->config, dir, err);
	if (hex_get(handle, sizeof handle, dir + 1) < 0)
		return err_set(err, ERR_INVALID, "lent directory's name");
	fd = lent_find(b->lent, handle, err);
	if (fd < 0)
		return -1;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return fd >= 0 ? fd : err_sys(err, "lent directory");
}

static int
build_open(struct broker *b, const struct broker_build *q, struct build *w,
    struct err *err)
{
	for (; w->nlayer < q->nlayer; w->nlayer++) {
		w->layer[w->nlayer] =
		    images_layer(b->images, q->layer[w->nlayer], err);
		if (w->layer[w->nlayer] < 0)
			return -1;
	}
	if (q->nlayer == 0) {
		w->layer[0] = open_dir(b, q->dir, err);
		if (w->layer[0] < 0)
			return -1;
		w->nlayer = 1;
	}
	for (; w->nmount < q->nmount; w->nmount++) {
		w->mount[w->nmount] =
		    open_mount(b->config, &q->mount[w->nmount], err);
		if (w->mount[w->nmount] < 0)
			return -1;
	}
	return 0;
}

static void
build_box(const struct broker_build *q, const struct build *w,
    const struct live *l, struct box *box)
{
	*box = (struct box){
		.name = l->name,
		.hostname = q->hostname[0] != '\0' ? q->hostname : "sandbox",
		.profile = q->hardened ? PROFILE_HARDENED : PROFILE_BOX,
		.slot = l->slot,
		.layer = w->layer,
		.nlayer = w->nlayer,
		.plain = q->nlayer == 0,
		.readonly = q->readonly,
		.root_bytes = q->root_bytes,
		.work_bytes = q->work_bytes,
		.shm_bytes = q->shm_bytes,
		.nofile = q->nofile,
		.limits = { q->memory, q->pids, q->cpu_milli, q->io_weight },
		.net = -1,
		.nmount = q->nmount,
	};
	for (unsigned i = 0; i < q->nmount; i++)
		box->mount[i] = (struct box_mount){ w->mount[i], q->mount[i].at,
			q->mount[i].readonly };
}

/* Stream and pidfd into the reply. */
static int
answer_built(struct live *l, int stream, struct link_msg *reply,
    struct err *err)
{
	struct broker_built built = { .slot = l->slot, .ipv4 = l->ipv4 };
	auto_fd int end = fcntl(l->instance.pidfd, F_DUPFD_CLOEXEC, 3);

	reply->fd[reply->nfd++] = stream;
	if (end < 0)
		return err_sys(err, "pidfd");
	reply->fd[reply->nfd++] = take_fd(&end);
	for (int i = 0; i < BACKEND_STEPS; i++)
		built.step_us[i] = l->instance.step_us[i];
	memcpy(reply->body, &built, sizeof built);
	reply->len = sizeof built;
	return 0;
}

/* Its ids and its network; of a blank, if there is one. */
static int
build_place(struct broker *b, const struct broker_build *q, struct live *l,
    struct blank **blank, struct err *err)
{
	struct net_lease lease;
	struct ready r;

	blanks_expect(b->blanks, q);
	if (blanks_take(b->blanks, (enum broker_net)q->net, &r)) {
		*blank = r.blank;
		l->netns = r.netns;
		l->slot = r.slot;
		l->ipv4 = r.ipv4;
		return 0;
	}
	if (slots_take(b->slots, &l->slot, err) < 0)
		return -1;
	if (q->net != BROKER_NET_NAT)
		return 0;
	if (wayout_take(b, &lease, err) < 0)
		return -1;
	l->netns = lease.netns;
	l->ipv4 = lease.ipv4;
	return 0;
}

static int
build_start(struct broker *b, const struct broker_build *q, struct live *l,
    struct link_msg *reply, struct err *err)
{
	struct build w = { 0 };
	struct blank *blank = NULL;
	struct box box;
	int r = build_open(b, q, &w, err);

	if (r == 0)
		r = build_place(b, q, l, &blank, err);
	if (r == 0) {
		build_box(q, &w, l, &box);
		box.net = l->netns;
		box.blank = blank;
		r = b->does->backend->start(b->host, &box, &l->instance, err);
	}
	build_close(&w);
	if (r < 0)
		return -1;
	l->nlayer = q->nlayer;
	l->layer = xcalloc(q->nlayer + 1u, sizeof *l->layer);
	memcpy(l->layer, q->layer, q->nlayer * sizeof *l->layer);
	watch_live(b, l);
	warm_heat(b->warm, l);
	return answer_built(l, take_fd(&l->instance.stream), reply, err);
}

int
serve_build(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_build q;
	struct live *l;

	(void)p;
	memcpy(&q, m->body, sizeof q);
	if (b->stopping)
		return err_set(err, ERR_BUSY, "the daemon is stopping");
	if (check_build(b->config, &q, err) < 0)
		return -1;
	later_put_off(b->later);
	if (boxes_find(b->boxes, q.id) != NULL)
		return err_set(err, ERR_INVALID, "sandbox id is in use");
	l = boxes_add(b->boxes, q.id);
	l->slot = SLOTS_REST; /* nobody's: none yet */
	instance_init(&l->instance);
	if (build_start(b, &q, l, reply, err) == 0) {
		log_say(LOG_INFO, "sandbox started", "sandbox", l->name, NULL);
		return 0;
	}
	if (l->end == NULL) {
		slots_give(b->slots, l->slot);
		boxes_remove(b->boxes, l);
	} else {
		l->stopping = true;
		b->does->backend->stop(&l->instance, &(struct err){ 0 });
	}
	return -1;
}

/* ---- the rest ---- */

static struct live *
find(struct broker *b, const struct link_msg *m, struct err *err)
{
	struct live *l = boxes_find(b->boxes, m->body);

	if (l == NULL)
		err_set(err, ERR_MISSING, "no such sandbox");
	return l;
}

int
serve_live(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_page q;
	struct broker_live live;

	(void)p;
	(void)err;
	memcpy(&q, m->body, sizeof q);
	boxes_page(b->boxes, q.from, &live);
	memcpy(reply->body, &live, sizeof live);
	reply->len = sizeof live;
	return 0;
}

int
serve_attach(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct live *l = find(b, m, err);
	int stream;

	(void)p;
	if (l == NULL)
		return -1;
	stream = b->does->backend->attach(&l->instance, err);
	return stream < 0 ? -1 : answer_built(l, stream, reply, err);
}

int
serve_join(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct live *l = find(b, m, err);

	(void)p;
	(void)reply;
	return l == NULL ? -1 : warm_join(b->warm, l, err);
}

int
serve_stop(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct live *l = find(b, m, err);

	(void)p;
	(void)reply;
	if (l == NULL)
		return -1;
	l->stopping = true;
	return b->does->backend->stop(&l->instance, err);
}

int
serve_freeze(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_freeze q;
	struct live *l = find(b, m, err);

	(void)p;
	(void)reply;
	memcpy(&q, m->body, sizeof q);
	if (l == NULL)
		return -1;
	if (q.on > 1)
		return err_set(err, ERR_INVALID, "neither on nor off");
	return b->does->backend->freeze(&l->instance, q.on, err);
}

int
serve_usage(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct live *l = find(b, m, err);
	struct usage u = { 0 };

	(void)p;
	if (l == NULL || b->does->backend->usage(&l->instance, &u, err) < 0)
		return -1;
	memcpy(reply->body, &u, sizeof u);
	reply->len = sizeof u;
	return 0;
}
