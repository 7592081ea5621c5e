#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "isolator/caps.h"
#include "isolator/landlock.h"
#include "isolator/plan.h"
#include "isolator/rlimit.h"
#include "isolator/spec.h"
#include "isolator/stage.h"

/* Numbers while the stage works; below them only 0-2 and control. */
enum { STREAM_AT = 4, WORK_FROM = 5 };

struct stage {
	struct spec_in in;
	struct plan_ahead ahead;
	bool entered; /* its groups */
	int control;
};

typedef int stage_fn(struct stage *, struct err *);

/* The broker's end is our end, from here on. */
static int
own_life(struct stage *st, struct err *err)
{
	sigset_t none;

	(void)st;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, "death signal");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	setsid(); /* fails for who already leads one: as well */
	return 0;
}

/* What needs no spec, while it is being written. */
static int
ahead(struct stage *st, struct err *err)
{
	(void)err;
	plan_ahead(&st->ahead);
	return 0;
}

/* To move oneself is free, to be moved is not (cgroup.h). */
static int
through_doors(struct spec_in *in, struct err *err)
{
	if (!(in->spec.flags & SPEC_ENTER))
		return err_set(err, ERR_PROTO, "no groups");
	for (int i = 0; i < SPEC_GROUPS; i++) {
		int *door = &in->fd[SPEC_FD_GROUP + i];

		if (*door >= 0 && write(*door, "0", 1) < 0)
			return err_sys(err, "enter");
		own_closep(door);
	}
	return 0;
}

/* Who was made ahead gets its groups first: it waits in them. */
static int
receive(struct stage *st, struct err *err)
{
	if (spec_recv(st->control, &st->in, err) < 0)
		return -1;
	if (!(st->in.spec.flags & SPEC_ENTER))
		return 0;
	st->entered = true;
	if (through_doors(&st->in, err) < 0 ||
	    spec_recv(st->control, &st->in, err) < 0)
		return -1;
	return st->in.spec.flags & SPEC_ENTER
	    ? err_set(err, ERR_PROTO, "no spec")
	    : 0;
}

/* Else they are made while the stage is at work, and nothing else has run. */
static int
groups(struct stage *st, struct err *err)
{
	static struct spec_in doors;

	if (st->entered)
		return 0;
	if (spec_recv(st->control, &doors, err) < 0)
		return -1;
	return through_doors(&doors, err);
}

/* What it sees as the root is its own group: it was born in it. */
static int
cgroup_view(struct stage *st, struct err *err)
{
	(void)st;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, "cgroup namespace");
	return 0;
}

static int
file_system(struct stage *st, struct err *err)
{
	struct plan plan;

	if (plan_make(&st->in.spec, &plan, err) < 0)
		return -1;
	return plan_run(&plan, &st->ahead, st->in.fd, err);
}

static int
loopback(struct err *err)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return err_sys(err, "socket");
	if (ioctl(s, SIOCSIFFLAGS, &ifr) < 0)
		return err_sys(err, "loopback up");
	return 0;
}

static int
names(struct stage *st, struct err *err)
{
	const char *name = st->in.spec.hostname;

	if (name[0] != '\0' && sethostname(name, strlen(name)) < 0)
		return err_sys(err, "host name");
	return st->in.spec.flags & SPEC_LOOPBACK ? loopback(err) : 0;
}

/* The kernel's first choice when memory ends is a sandbox, not its keeper. */
static int
more_killable(struct stage *st, struct err *err)
{
	auto_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)st;
	if (fd >= 0 && write(fd, "300", 3) != 3)
		return err_sys(err, "oom_score_adj");
	return 0;
}

static int
standard(struct stage *st, struct err *err)
{
	int last = st->in.spec.flags & SPEC_STDERR ? 1 : 2;
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return err_sys(err, "/dev/null");
	for (int i = 0; i <= last; i++)
		if (fd != i && dup2(fd, i) < 0)
			return err_sys(err, "standard descriptors");
	if (fd > 2)
		close(fd);
	return 0;
}

/* From where it is to the number that it is to have, without close-on-exec. */
static int
put(int *fd, int at, int flags, struct err *err)
{
	if (*fd == at)
		return fcntl(at, F_SETFD, flags & O_CLOEXEC ? FD_CLOEXEC : 0);
	if (dup3(*fd, at, flags) < 0)
		return err_sys(err, "descriptor %d", at);
	close(*fd);
	*fd = at;
	return 0;
}

/* The agent: control and the stream stay, nothing else. */
static int
keep_agent(struct stage *st, struct err *err)
{
	int *stream = &st->in.fd[SPEC_FD_STREAM];

	if (*stream < 0)
		return err_set(err, ERR_PROTO, "no stream");
	if (put(stream, STREAM_AT, O_CLOEXEC, err) < 0)
		return -1;
	if (fcntl(st->control, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(WORK_FROM, ~0u, 0) < 0)
		return err_sys(err, "close descriptors");
	return 0;
}

/*
 * A program: 3 and up are the descriptors it is given.  The program itself is
 * moved to a number so high that the limit on open files, which comes later,
 * keeps it from being used ever again: the filter permits execveat() of that
 * one number, and close-on-exec has closed it by then.
 */
static int
keep_program(struct stage *st, struct err *err)
{
	int *fd = st->in.fd, *keep = fd + SPEC_FD_KEEP;
	int n = st->in.spec.nkeep, exec_at = st->in.spec.exec_at;
	int high = 3 + SPEC_KEEP + SPEC_FDS;

	struct rlimit nofile;

	if (exec_at <= high + n)
		return err_set(err, ERR_PROTO, "program's descriptor");
	if (getrlimit(RLIMIT_NOFILE, &nofile) < 0)
		return err_sys(err, "limit nofile");
	nofile.rlim_cur = nofile.rlim_max;
	setrlimit(RLIMIT_NOFILE, &nofile);
	if (put(&fd[SPEC_FD_EXEC], exec_at, O_CLOEXEC, err) < 0)
		return -1;
	for (int i = 0; i < n; i++) /* out of each other's way first */
		if (put(&keep[i], high + i, O_CLOEXEC, err) < 0)
			return -1;
	for (int i = 0; i < n; i++)
		if (put(&keep[i], 3 + i, 0, err) < 0)
			return -1;
	if (close_range(3 + (unsigned)n, (unsigned)exec_at - 1, 0) < 0 ||
	    close_range((unsigned)exec_at + 1, ~0u, 0) < 0)
		return err_sys(err, "close descriptors");
	return 0;
}

static int
descriptors(struct stage *st, struct err *err)
{
	if (standard(st, err) < 0)
		return -1;
	return st->in.fd[SPEC_FD_EXEC] < 0 ? keep_agent(st, err)
					   : keep_program(st, err);
}

static int
limits(struct stage *st, struct err *err)
{
	return rlimit_apply(st->in.spec.nofile, err);
}

static int
privileges(struct stage *st, struct err *err)
{
	if (caps_keep(st->in.spec.caps, err) < 0)
		return -1;
	/* Again: a change of credentials forgets both. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, "death signal");
	return 0;
}

/* The places where a process may write, by the spec, and what terminals and
 * /dev/null are. */
static int
writing(struct stage *st, struct err *err)
{
	const struct spec *s = &st->in.spec;
	const char *at[SPEC_MOUNTS + 1] = { "/dev" };
	size_t n = 1;

	if (!(s->flags & SPEC_LANDLOCK))
		return 0;
	for (int i = 0; i < s->nmount; i++)
		if (!(s->mount[i].flags & SPEC_READONLY))
			at[n++] = s->mount[i].at;
	return landlock_write_below(at, n, err);
}

static int
filter(struct stage *st, struct err *err)
{
	struct sock_fprog prog = { .len = st->in.spec.nfilter,
		.filter = st->in.filter };

	if (prog.len == 0)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(err, "filter");
	return 0;
}

static const struct {
	const char *name;
	stage_fn *run;
} stages[] = {
	{ "life", own_life },
	{ "ahead", ahead },
	{ "spec", receive },
	{ "file system", file_system },
	{ "names", names },
	{ "memory", more_killable },
	{ "groups", groups },
	{ "cgroup", cgroup_view },
	{ "descriptors", descriptors },
	{ "limits", limits },
	{ "privileges", privileges },
	{ "writing", writing },
	{ "filter", filter },
};

/* argc + envc strings, in spec.args one behind the other. */
static int
become(struct stage *st, struct err *err)
{
	const struct spec *s = &st->in.spec;
	char *text = st->in.spec.args, *word[2 + sizeof s->args];
	char **env;
	size_t n = 0;

	for (int i = 0; i < s->argc + s->envc; i++) {
		if (i == s->argc)
			word[n++] = NULL;
		word[n++] = text;
		text += strlen(text) + 1;
	}
	if (s->envc == 0)
		word[n++] = NULL;
	word[n] = NULL;
	env = word + s->argc + 1;
	syscall(SYS_execveat, s->exec_at, "", word, env, AT_EMPTY_PATH);
	return err_sys(err, "execute %s", word[0]);
}

/* One of our own has no stream; its standard error is the broker's. */
static int
fail(const struct stage *st, struct err *err, const char *at)
{
	err_wrap(err, "isolate: %s", at);
	if (st->in.spec.flags & SPEC_STDERR)
		log_err(LOG_ERROR, err, "not started", NULL);
	return -1;
}

int
isolate_stage(int control, struct stage_result *out, struct err *err)
{
	static struct stage st; /* some pages, too large for a stack */

	out->control = st.control = control;
	out->stream = -1;
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
		if (stages[i].run(&st, err) < 0) {
			out->stream = st.in.spec.magic == SPEC_MAGIC
			    ? st.in.fd[SPEC_FD_STREAM]
			    : -1;
			return fail(&st, err, stages[i].name);
		}
	if (st.in.fd[SPEC_FD_EXEC] >= 0)
		return become(&st, err) < 0 ? fail(&st, err, "program") : 0;
	out->stream = st.in.fd[SPEC_FD_STREAM];
	return 0;
}
