#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "daemon/later.h"
#include "daemon/admin.h"
#include "daemon/blanks.h"
#include "daemon/broker.h"
#include "daemon/listen.h"
#include "daemon/model.h"
#include "daemon/setup.h"
#include "daemon/warm.h"
#include "isolator/backend.h"
#include "isolator/idmap.h"
#include "isolator/mount.h"
#include "isolator/net.h"
#include "wire/loop.h"

/*
 * The tree as an open directory: whoever gets it may list and sync it, and it
 * still ends where the mount does.  The mount itself is let go of, it stays as
 * long as somebody has something of it open.
 */
static int
opened(int given, struct err *err)
{
	auto_fd int tree = given;
	int fd;

	if (tree < 0)
		return -1;
	fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : err_sys(err, "open tree");
}

static int
window(int dir, bool readonly, struct err *err)
{
	return opened(mount_clone_attr(dir,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			      MOUNT_ATTR_NOEXEC |
			      (readonly ? MOUNT_ATTR_RDONLY : 0),
			  -1, err),
	    err);
}

static int
merge(struct host *h, const int *layer, size_t n, struct err *err)
{
	return opened(host_merged(h, layer, n, err), err);
}

static int
oom_fd(struct host *h, const struct instance *i, struct err *err)
{
	return cgroup_oom_fd(host_cgroups(h), &i->cgroup, err);
}

static const struct mechanism real = {
	.backend = &backend_ns,
	.confine = confined_start,
	.drop = instance_drop,
	.window = window,
	.oom_fd = oom_fd,
	.merge = merge,
};

static int
open_program(const char *libexec, const char *name, struct err *err)
{
	auto_free char *path = xasprintf("%s/%s", libexec, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_MISSING,
		    "%s is missing: `make install', or say --libexec DIR",
		    path);
	return fd >= 0 ? fd : err_sys(err, "%s", path);
}

static unsigned
required(const struct config *c)
{
	static const struct {
		const char *name;
		unsigned bit;
	} bits[] = {
		{ "memory", CGROUP_MEMORY },
		{ "pids", CGROUP_PIDS },
		{ "cpu", CGROUP_CPU },
		{ "io", CGROUP_IO },
	};
	unsigned all = 0;

	for (size_t i = 0; i < c->limits_required.n; i++)
		for (size_t j = 0; j < sizeof bits / sizeof *bits; j++)
			if (strcmp(c->limits_required.at[i], bits[j].name) == 0)
				all |= bits[j].bit;
	return all;
}

/* Also kills what a former life of this instance left running. */
static int
make_host(struct broker *b, const char *libexec, struct err *err)
{
	auto_fd int agent = open_program(libexec, "hutch-agent", err);
	struct host_conf h = {
		.agent = agent,
		.name = b->state.name,
		.id_base = b->config->id_base,
		.slots = slots_end(b->slots),
		.require = required(b->config),
		.owner = b->config->id_base + b->owner_slot * IDMAP_COUNT,
	};

	if (agent < 0)
		return -1;
	b->host = host_new(&h, err);
	if (b->host == NULL)
		return -1;
	net_sweep(b->state.number, b->state.net);
	return state_own(b->state.front, host_first_id(b->host, b->front_slot),
	    err);
}

static int
open_store(struct broker *b, struct err *err)
{
	const struct images_dirs dirs = {
		.layers = b->state.layers,
		.images = b->state.images,
		.trash = b->state.trash,
		.rest = b->config->id_base,
	};

	trash_add_all(b->state.trash, b->state.staging);
	b->images = images_open(&dirs, err);
	return b->images != NULL ? 0 : -1;
}

static int
open_listeners(struct broker *b, struct err *err)
{
	const struct config *c = b->config;
	gid_t group = listen_group("hutch");
	auto_free char *port = NULL, *agents = NULL;
	uint16_t agent_port = c->agent_port;

	b->port = c->port;
	b->tcp = listen_tcp(c->host, &b->port, "port", err);
	if (b->tcp < 0)
		return -1;
	b->agents = listen_tcp(c->agent_host, &agent_port, "agent_port", err);
	if (b->agents < 0)
		return -1;
	b->native = listen_unix(c->socket, SOCK_STREAM,
	    group != (gid_t)-1 ? 0660 : 0600, group, err);
	if (b->native < 0)
		return -1;
	port = xasprintf("%u", b->port);
	agents = xasprintf("%u", agent_port);
	log_say(LOG_INFO, "listening", "host", c->host, "port", port, "socket",
	    c->socket, "agent_host", c->agent_host, "agent_port", agents, NULL);
	return 0;
}

static struct broker *
empty(struct config *c, struct loop *l)
{
	struct broker *b = xcalloc(1, sizeof *b);

	b->config = c;
	b->loop = l;
	b->does = &real;
	b->tcp = b->native = b->agents = -1;
	b->state.root = -1;
	for (int i = 0; i < PROGRAMS; i++)
		b->program[i] = -1;
	TAILQ_INIT(&b->jobs);
	b->boxes = boxes_new();
	b->lent = lent_new();
	return b;
}

static int
fill(struct broker *b, const char *libexec, struct err *err)
{
	if (state_open(&b->state, b->config->root, err) < 0)
		return -1;
	b->slots = slots_new(b->state.number, b->config->slots);
	if (slots_take(b->slots, &b->front_slot, err) < 0 ||
	    slots_take(b->slots, &b->owner_slot, err) < 0 ||
	    slots_take(b->slots, &b->model_slot, err) < 0)
		return -1;
	b->trash = trash_new(b->loop, b->state.trash);
	if (make_host(b, libexec, err) < 0 || open_store(b, err) < 0)
		return -1;
	b->program[PROGRAM_FRONT] = open_program(libexec, "hutch-front", err);
	if (b->program[PROGRAM_FRONT] < 0)
		return -1;
	b->program[PROGRAM_FETCH] = open_program(libexec, "hutch-fetch", err);
	if (b->program[PROGRAM_FETCH] < 0)
		return -1;
	b->program[PROGRAM_MODEL] = open_program(libexec, "hutch-model", err);
	if (b->program[PROGRAM_MODEL] < 0)
		return -1;
	b->model = model_new(b, b->model_slot);
	b->later = later_new(b);
	b->blanks = blanks_new(b);
	b->warm = warm_new(b, libexec, host_first_id(b->host, b->owner_slot));
	broker_collect(b);
	trash_empty(b->trash);
	return open_listeners(b, err);
}

struct broker *
setup_broker(struct config *c, const char *libexec, struct loop *l,
    struct err *err)
{
	struct broker *b = empty(c, l);

	if (fill(b, libexec, err) == 0)
		return b;
	setup_undo(b);
	return NULL;
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
setup_undo(struct broker *b)
{
	if (b->native >= 0)
		unlink(b->config->socket);
	shut(&b->tcp);
	shut(&b->native);
	shut(&b->agents);
	for (int i = 0; i < PROGRAMS; i++)
		shut(&b->program[i]);
	model_free(b->model);
	blanks_free(b->blanks);
	warm_free(b->warm);
	later_free(b->later);
	net_stop(b->net);
	boxes_free(b->boxes);
	lent_free(b->lent);
	if (b->images != NULL)
		images_free(b->images);
	trash_free(b->trash);
	if (b->host != NULL)
		host_free(b->host);
	slots_free(b->slots);
	if (b->state.root >= 0)
		state_close(&b->state);
	conf_free(b->config);
	free(b);
}

static void
remove_sockets(const char *native)
{
	auto_free char *admin = admin_path(native);

	unlink(native);
	unlink(admin);
	*strrchr(admin, '/') = '\0';
	rmdir(admin); /* its folder, if we were all there was */
}

int
setup_reset(struct config *c, const char *libexec, struct err *err)
{
	struct loop *l = loop_new();
	struct broker *b = empty(c, l);
	struct state state;
	int r = state_open(&b->state, c->root, err);

	if (r == 0) {
		b->slots = slots_new(b->state.number, c->slots);
		r = make_host(b, libexec, err);
	}
	state = b->state;
	b->state.root = -1;
	if (r == 0)
		r = state_erase(&state, c->root, err);
	else if (state.root >= 0)
		state_close(&state);
	if (r == 0)
		remove_sockets(c->socket);
	setup_undo(b);
	loop_free(l);
	return r;
}
