#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/cgroup_tree.h"

/* ---- files ---- */

int
cgroup_put(int dir, const char *file, uint64_t value, struct err *err)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return file_put_at(dir, file, text, err);
}

static size_t
read_small(int dir, const char *file, char *buf, size_t room)
{
	auto_fd int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

uint64_t
cgroup_number(int dir, const char *file, const char *key)
{
	char buf[4096], *at = buf;
	size_t len = key != NULL ? strlen(key) : 0;

	if (read_small(dir, file, buf, sizeof buf) == 0)
		return 0;
	if (key == NULL)
		return strtoull(buf, NULL, 10);
	for (; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return strtoull(at + len + 1, NULL, 10);
	}
	return 0;
}

/* ---- one group ---- */

static void
close_dirs(struct cgroup *cg)
{
	if (cg->v2 >= 0)
		close(cg->v2);
	for (int i = 0; i < CGROUP_TREES; i++)
		if (cg->v1[i] >= 0)
			close(cg->v1[i]);
	cgroup_init(cg);
}

void
cgroup_init(struct cgroup *cg)
{
	*cg = (struct cgroup){ .v2 = -1, .v1 = { -1, -1, -1, -1 } };
}

/* True when no directory of that name is left. */
static bool
remove_dirs(struct cgroups *cs, const char *name)
{
	bool gone = true;

	for (int i = -1; i < CG_V1; i++) {
		int up = i < 0 ? cs->v2 : cs->v1[i];

		if (up >= 0 && unlinkat(up, name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			gone = false;
	}
	return gone;
}

static void
retry_left(struct cgroups *cs)
{
	for (unsigned i = 0; i < cs->nleft;) {
		if (!remove_dirs(cs, cs->left[i])) {
			i++;
			continue;
		}
		cs->nleft--;
		memmove(cs->left[i], cs->left[cs->nleft], sizeof cs->left[i]);
	}
}

static void
leave(struct cgroups *cs, const char *name)
{
	if (cs->nleft == CGROUP_LEFT) {
		log_say(LOG_WARN, "cgroup stays behind", "cgroup", name, NULL);
		return;
	}
	snprintf(cs->left[cs->nleft++], sizeof cs->left[0], "%s", name);
}

int
cgroup_begin(struct cgroups *cs, const char *name, struct cgroup *out,
    struct err *err)
{
	struct cgroup cg;

	retry_left(cs);
	cgroup_init(&cg);
	if (snprintf(cg.name, sizeof cg.name, "%s", name) >=
		(int)sizeof cg.name ||
	    strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0')
		return err_set(err, ERR_INVALID, "cgroup name %.40s", name);
	/* Never one that is there: it may have been killed once. */
	if (mkdirat(cs->v2, name, 0755) < 0)
		return err_sys(err, "cgroup %s", name);
	cg.v2 = openat(cs->v2, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cg.v2 < 0) {
		err_sys(err, "cgroup %s", name);
		remove_dirs(cs, name);
		return -1;
	}
	*out = cg;
	return 0;
}

/* What there is of it after a failure is cgroup_destroy()'s. */
int
cgroup_complete(struct cgroups *cs, struct cgroup *cg,
    const struct cgroup_limits *l, struct err *err)
{
	return cs->ops->create(cs, cg, l, err);
}

void
cgroup_doors_close(int fd[CGROUP_TREES])
{
	for (int i = 0; i < CGROUP_TREES; i++)
		if (fd[i] >= 0)
			close(take_fd(&fd[i]));
}

int
cgroup_doors(const struct cgroup *cg, int fd[CGROUP_TREES], struct err *err)
{
	for (int i = 0; i < CGROUP_TREES; i++)
		fd[i] = -1;
	for (int i = 0; i < CGROUP_TREES; i++) {
		if (cg->v1[i] < 0)
			continue;
		fd[i] = openat(cg->v1[i], "tasks",
		    O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd[i] >= 0)
			continue;
		err_sys(err, "cgroup %s: tasks", cg->name);
		cgroup_doors_close(fd);
		return -1;
	}
	return 0;
}

int
cgroup_adopt(const struct cgroup *cg, pid_t pid, struct err *err)
{
	if (cg->v2 >= 0 &&
	    cgroup_put(cg->v2, "cgroup.procs", (uint64_t)pid, err) < 0)
		return err_wrap(err, "cgroup %s", cg->name);
	for (int i = 0; i < CGROUP_TREES; i++)
		if (cg->v1[i] >= 0 &&
		    cgroup_put(cg->v1[i], "cgroup.procs", (uint64_t)pid, err) <
			0)
			return err_wrap(err, "cgroup %s", cg->name);
	return 0;
}

int
cgroup_limit(struct cgroups *cs, const struct cgroup *cg,
    const struct cgroup_limits *l, struct err *err)
{
	return cs->ops->limit(cg, l, err);
}

int
cgroup_kill(const struct cgroup *cg, struct err *err)
{
	return file_put_at(cg->v2, "cgroup.kill", "1", err);
}

int
cgroup_freeze(const struct cgroup *cg, bool on, struct err *err)
{
	return file_put_at(cg->v2, "cgroup.freeze", on ? "1" : "0", err);
}

int
cgroup_usage(struct cgroups *cs, const struct cgroup *cg, struct usage *out,
    struct err *err)
{
	struct usage u = { 0 };

	if (cg->v2 < 0)
		return err_set(err, ERR_MISSING, "no cgroup");
	cs->ops->usage(cg, &u);
	*out = u;
	return 0;
}

int
cgroup_oom_fd(struct cgroups *cs, const struct cgroup *cg, struct err *err)
{
	return cs->ops->oom_fd(cg, err);
}

void
cgroup_destroy(struct cgroups *cs, struct cgroup *cg)
{
	char name[sizeof cg->name];
	struct err err;

	if (cg->v2 < 0)
		return;
	memcpy(name, cg->name, sizeof name);
	if (cgroup_number(cg->v2, "cgroup.events", "populated") != 0)
		cgroup_kill(cg, &err);
	close_dirs(cg);
	if (!remove_dirs(cs, name))
		leave(cs, name);
	retry_left(cs);
}

unsigned
cgroups_can(const struct cgroups *cs)
{
	return cs->can;
}

const char *
cgroups_kind(const struct cgroups *cs)
{
	return cs->ops->kind;
}

void
cgroups_close(struct cgroups *cs)
{
	if (cs == NULL)
		return;
	retry_left(cs);
	cgroups_return(cs);
	for (int i = -1; i < CG_V1; i++) {
		int dir = i < 0 ? cs->v2 : cs->v1[i];
		int up = i < 0 ? cs->v2_up : cs->v1_up[i];

		if (dir >= 0)
			close(dir);
		if (up < 0)
			continue;
		unlinkat(up, cs->name, AT_REMOVEDIR);
		close(up);
	}
	free(cs);
}
