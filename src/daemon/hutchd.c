#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "config.h"
#include "conf/conf.h"
#include "daemon/admin.h"
#include "daemon/broker.h"
#include "daemon/front.h"
#include "daemon/job.h"
#include "daemon/model.h"
#include "daemon/notify.h"
#include "daemon/options.h"
#include "daemon/reload.h"
#include "daemon/setup.h"
#include "isolator/backend.h"
#include "wire/loop.h"

#define GRACE_MS 5000   /* after drain_timeout, for the front's own clock */
#define DEATHS_MS 20000 /* all killed processes are gone by then */

/* The only one in this process: signals and the front's end lead here. */
static struct {
	struct options options;
	struct broker *broker;
	struct front *front;
	struct admin *admin;
	struct watch *deaths;
} self;

/* ---- the end ---- */

static void
maybe_over(struct broker *b)
{
	if (b->stopping && self.deaths != NULL && boxes_count(b->boxes) == 0 &&
	    TAILQ_EMPTY(&b->jobs) && !model_runs(b->model))
		loop_stop(b->loop);
}

static void
not_dead(void *arg, int what)
{
	struct broker *b = arg;

	(void)what;
	log_f(LOG_ERROR, "%u sandboxes would not die", boxes_count(b->boxes));
	loop_stop(b->loop);
}

/* The front is gone; then all else goes. */
static void
kill_all(struct broker *b)
{
	struct live *l;
	struct err err;

	self.deaths = watch_timer(b->loop, not_dead, b);
	watch_arm(self.deaths, DEATHS_MS);
	for (l = boxes_next(b->boxes, NULL); l != NULL;
	     l = boxes_next(b->boxes, l)) {
		l->stopping = true;
		if (b->does->backend->stop(&l->instance, &err) < 0)
			log_err(LOG_ERROR, &err, "not stopped", "sandbox",
			    l->name, NULL);
	}
	jobs_kill(b);
	model_kill(b->model);
	maybe_over(b);
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
on_stop(void *arg, int sig)
{
	struct broker *b = arg;

	log_say(LOG_NOTE, b->stopping ? "stopping at once" : "stopping",
	    "signal", strsignal(sig), NULL);
	if (b->stopping) {
		front_kill(self.front);
		return;
	}
	b->stopping = true;
	notify_say("STOPPING=1");
	unlink(b->config->socket);
	shut(&b->tcp);
	shut(&b->native);
	shut(&b->agents);
	front_drain(self.front,
	    (int64_t)b->config->drain_timeout * 1000 + GRACE_MS, kill_all);
}

static void
on_reload(void *arg, int sig)
{
	struct broker *b = arg;
	struct err err;

	(void)sig;
	notify_say("RELOADING=1");
	if (reload(b, &self.options, &err) < 0)
		log_err(LOG_ERROR, &err, "configuration stays as it was", NULL);
	notify_say("READY=1");
}

/* ---- the start ---- */

/* Descriptors 0-2 exist, nobody may look into us, files are ours alone. */
static int
harden(struct err *err)
{
	struct err ignored;
	struct rlimit r;
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return err_sys(err, "/dev/null");
	} while (fd < 3);
	close(fd);
	umask(022); /* who may do what is said where a thing is made */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, "dumpable");
	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	signal(SIGPIPE, SIG_IGN);
	/* Whoever is short of memory, it is not our fault; may be refused. */
	(void)file_put_at(AT_FDCWD, "/proc/self/oom_score_adj", "-900",
	    &ignored);
	return 0;
}

static int
serve(struct broker *b, struct err *err)
{
	struct watch *signals[] = {
		watch_signal(b->loop, SIGTERM, on_stop, b),
		watch_signal(b->loop, SIGINT, on_stop, b),
		watch_signal(b->loop, SIGHUP, on_reload, b),
	};
	int r = -1;

	b->idle = maybe_over;
	self.front = front_new(b, b->front_slot);
	self.admin = admin_open(b, err);
	if (self.admin != NULL && front_start(self.front, err) == 0) {
		notify_say("READY=1");
		loop_run(b->loop);
		r = 0;
	}
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		watch_free(signals[i]);
	watch_free(self.deaths);
	admin_free(self.admin);
	front_free(self.front);
	return r;
}

static int
run(struct config *c, struct err *err)
{
	struct broker *b;
	struct loop *l;
	int r;

	if (geteuid() != 0) {
		conf_free(c);
		return err_set(err, ERR_DENIED,
		    "hutchd has to be started as root: it makes namespaces "
		    "and mounts");
	}
	l = loop_new();
	b = setup_broker(c, self.options.libexec, l, err);
	r = b != NULL ? serve(b, err) : -1;
	if (b != NULL)
		setup_undo(b);
	loop_free(l);
	return r;
}

static int
fail(const struct err *err)
{
	log_err(LOG_ERROR, err, "hutchd does not run", NULL);
	return err->code == ERR_INVALID ? 2 : 1;
}

/* What is answered without running. */
static bool
asked_only(const struct options *o)
{
	if (o->help)
		options_usage();
	if (o->version)
		puts(PACKAGE_STRING);
	if (o->help_options)
		conf_help(stdout);
	if (o->help_mdoc)
		conf_help_mdoc(stdout);
	return o->help || o->version || o->help_options || o->help_mdoc;
}

int
main(int argc, char **argv)
{
	struct options *o = &self.options;
	struct config *c;
	struct err err;

	log_start("hutchd", LOG_INFO);
	if (options_parse(o, argc, argv, &err) < 0)
		return fail(&err);
	if (asked_only(o))
		return 0;
	if ((c = options_config(o, &err)) == NULL)
		return fail(&err);
	log_level((enum log_level)log_level_parse(c->log_level));
	if (o->check || o->print) {
		if (o->print)
			conf_print(c, stdout);
		else
			puts("the configuration is right");
		conf_free(c);
		return 0;
	}
	if (harden(&err) < 0)
		return fail(&err);
	if (o->reset)
		return setup_reset(c, o->libexec, &err) < 0 ? fail(&err) : 0;
	return run(c, &err) < 0 ? fail(&err) : 0;
}
