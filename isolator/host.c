#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/host.h"
#include "isolator/idmap.h"
#include "isolator/nest.h"
#include "isolator/profile.h"
#include "isolator/rlimit.h"
#include "isolator/root.h"
#include "isolator/spec.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20
#endif

/* Before Linux 6.3 an unknown flag is EINVAL, and every memfd executable. */
static int
exec_memfd(struct err *err)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("hutch-agent", flags | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("hutch-agent", flags);
	if (fd < 0)
		return err_sys(err,
		    "executable memfd (sysctl vm.memfd_noexec must be below "
		    "2)");
	return fd;
}

static int
seal(int fd, struct err *err)
{
	int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_EXEC) == 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) == 0)
		return 0;
	return err_sys(err, "seal");
}

/* A copy that nobody can change, not even who overwrites the file. */
static int
image_of(int agent, struct err *err)
{
	auto_fd int fd = exec_memfd(err);
	struct stat st;
	off_t at = 0;

	if (fd < 0)
		return -1;
	if (fstat(agent, &st) < 0)
		return err_sys(err, "agent");
	while (at < st.st_size)
		if (sendfile(fd, agent, &at, (size_t)(st.st_size - at)) <= 0)
			return err_sys(err, "copy agent");
	if (fchmod(fd, 0555) < 0)
		return err_sys(err, "agent");
	return seal(fd, err) < 0 ? -1 : take_fd(&fd);
}

/* As high as the limit on open files lets it be: above what anyone will use. */
static unsigned
highest(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max > 16384)
		return 16383;
	return (unsigned)r.rlim_max - 1;
}

static int
make_filters(struct host *h, struct err *err)
{
	h->exec_at = highest();
	for (int p = 0; p < PROFILES; p++)
		if (filter_make((enum profile)p, h->exec_at, &h->filter[p],
			err) < 0)
			return err_wrap(err, "profile %s",
			    profile_row((enum profile)p)->name);
	return 0;
}

struct host *
host_new(const struct host_conf *c, struct err *err)
{
	struct host *h = xcalloc(1, sizeof *h);
	auto_fd int image = image_of(c->agent, err);

	rlimit_lift();
	h->require = c->require;
	h->owner = c->owner;
	if (image >= 0 && make_filters(h, err) == 0 &&
	    (h->ns = ns_open(image, err)) != NULL &&
	    (h->nest = nest_open(err)) != NULL &&
	    (h->cgroups = cgroups_open(c->name, err)) != NULL) {
		h->idmap = idmap_new(h->ns, c->id_base, c->slots);
		h->roots = roots_open(h->ns, h->nest, h->idmap, c->id_base,
		    c->avoid, err);
		if (h->roots != NULL)
			return h;
	}
	host_free(h);
	return NULL;
}

void
host_free(struct host *h)
{
	if (h == NULL)
		return;
	roots_close(h->roots);
	idmap_free(h->idmap);
	cgroups_close(h->cgroups);
	nest_close(h->nest);
	ns_close(h->ns);
	for (int p = 0; p < PROFILES; p++)
		filter_free(&h->filter[p]);
	free(h);
}

void
host_tidy(struct host *h)
{
	if (h != NULL)
		roots_tidy(h->roots);
}

struct cgroups *
host_cgroups(struct host *h)
{
	return h->cgroups;
}

uint32_t
host_first_id(const struct host *h, uint32_t slot)
{
	return idmap_first(h->idmap, slot);
}

int
host_merged(struct host *h, const int *layer, size_t n, struct err *err)
{
	return root_merged(h->roots, layer, n, err);
}

/* ---- blanks ---- */

static int
clone_from_nest(struct host *h, const struct ns_child *c, struct blank *b,
    struct err *err)
{
	int got = -1;

	if (nest_enter(h->nest, err) < 0)
		return -1;
	if (ns_start(h->ns, c, &b->born, err) == 0 &&
	    (b->dev = nest_dev(h->nest, err)) >= 0 &&
	    (b->sys = nest_sys(h->nest, err)) >= 0)
		got = 0;
	nest_leave(h->nest);
	return got;
}

/* The child first: it has as much to do as we, and there may be a second
 * processor. */
int
blank_start(struct host *h, const struct blank_want *w, struct blank *out,
    struct err *err)
{
	struct blank b = { .born = { -1, -1, -1, 0, 0 },
		.dev = -1,
		.sys = -1,
		.upper = -1,
		.work = -1 };
	struct ns_child c = { .count = IDMAP_COUNT,
		.net = w->net,
		.owner = w->owner };

	if (idmap_check(h->idmap, w->slot, err) < 0 ||
	    cgroup_begin(h->cgroups, w->name, &b.cgroup, err) < 0)
		return -1;
	c.first = idmap_first(h->idmap, w->slot);
	c.cgroup = b.cgroup.v2;
	if (clone_from_nest(h, &c, &b, err) < 0) {
		blank_drop(h, &b);
		return -1;
	}
	*out = b;
	return 0;
}

int
blank_enter(struct host *h, struct blank *b, const struct cgroup_limits *l,
    struct err *err)
{
	struct spec s = { .flags = SPEC_ENTER };
	int fd[SPEC_FDS], got;

	memset(fd, 0xff, sizeof fd);
	if (cgroup_complete(h->cgroups, &b->cgroup, l, err) < 0 ||
	    cgroup_doors(&b->cgroup, fd + SPEC_FD_GROUP, err) < 0)
		return -1;
	if (l != NULL)
		b->limits = *l;
	got = spec_send(b->born.control, &s, fd, NULL, err);
	cgroup_doors_close(fd + SPEC_FD_GROUP);
	return got;
}

/* What only the way to its spec needs. */
static void
close_way(struct blank *b)
{
	own_closep(&b->dev);
	own_closep(&b->sys);
	own_closep(&b->upper);
	own_closep(&b->work);
}

void
blank_drop(struct host *h, struct blank *b)
{
	ns_end(&b->born);
	close_way(b);
	cgroup_destroy(h->cgroups, &b->cgroup);
}

void
blank_take(struct blank *b, struct host *h, struct instance *in)
{
	instance_init(in);
	in->host = h;
	in->pid = b->born.pid;
	in->pidfd = b->born.pidfd;
	in->control = b->born.control;
	in->cgroup = b->cgroup;
	close_way(b);
}
