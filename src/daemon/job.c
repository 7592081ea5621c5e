#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/broker.h"
#include "daemon/job.h"
#include "daemon/serve.h"
#include "isolator/backend.h"
#include "wire/loop.h"

#define PIPE_BYTES (1 << 20)

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the end ---- */

static void
throw_staging(struct job *j)
{
	struct broker *b = j->of;
	struct err err;

	if (j->staging < 0)
		return;
	shut(&j->staging);
	if (trash_add(b->state.trash, b->state.staging, j->staging_name, &err) <
	    0)
		log_err(LOG_WARN, &err, "staging is left", NULL);
	trash_empty(b->trash);
}

static void
job_free(struct job *j)
{
	struct broker *b = j->of;

	TAILQ_REMOVE(&b->jobs, j, next);
	b->njobs--;
	watch_free(j->end);
	watch_free(j->deadline);
	peer_free(j->peer);
	throw_staging(j);
	shut(&j->tree);
	shut(&j->tar);
	free(j);
}

/* Whoever waited for the one that is gone. */
static void
admit_waiting(struct broker *b)
{
	static struct link_msg reply;
	struct job *j;

	TAILQ_FOREACH(j, &b->jobs, next) {
		uint32_t call = j->waiting;
		struct err err = { 0 };
		int r;

		if (call == 0)
			continue;
		memset(&reply, 0, sizeof reply);
		reply.type = BROKER_OK;
		j->waiting = 0;
		r = job_store(j, call, &reply, &err);
		if (r == SERVE_LATER)
			continue;
		if (r < 0) {
			log_err(LOG_WARN, &err, "import ended", "image",
			    j->name, NULL);
			job_kill(j);
		} else {
			broker_reply(j->peer, &reply, call);
		}
	}
}

static void
ended(void *arg, int what)
{
	struct job *j = arg;
	struct broker *b = j->of;
	siginfo_t si = { 0 };
	auto_free char *status = NULL;

	(void)what;
	waitid(P_PIDFD, (id_t)j->instance.pidfd, &si, WEXITED);
	/* Before its descriptor is closed: the next one opened, the remover's,
	 * has the same number, and an event on it would never come. */
	watch_free(take_ptr(&j->end));
	b->does->drop(&j->instance);
	throw_staging(j);
	status = xasprintf("%d", si.si_status);
	log_say(LOG_INFO, j->export ? "export ended" : "import ended", "image",
	    j->name, si.si_code == CLD_EXITED ? "exit" : "signal", status,
	    NULL);
	job_free(j);
	admit_waiting(b);
	broker_collect(b);
	b->idle(b);
}

void
job_kill(struct job *j)
{
	struct err err;

	if (j->of->does->backend->stop(&j->instance, &err) < 0)
		log_err(LOG_ERROR, &err, "import not stopped", "image", j->name,
		    NULL);
}

void
jobs_kill(struct broker *b)
{
	struct job *j;

	TAILQ_FOREACH(j, &b->jobs, next)
		job_kill(j);
}

static void
too_long(void *arg, int what)
{
	struct job *j = arg;

	(void)what;
	log_say(LOG_WARN, "import or export took too long", "image", j->name,
	    NULL);
	job_kill(j);
}

static int
on_message(void *arg, struct peer *p, struct link_msg *m, struct err *err)
{
	return broker_serve(arg, p, m, err);
}

static void
on_gone(void *arg, struct peer *p)
{
	(void)arg;
	job_kill(p->job);
}

/* ---- the start ---- */

static int
make_staging(struct job *j, struct err *err)
{
	struct broker *b = j->of;
	uint8_t random[16];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_sys(err, "random name");
	hex_put(j->staging_name, random, sizeof random);
	j->staging =
	    file_mkdir_at(b->state.staging, j->staging_name, 0700, err);
	if (j->staging < 0)
		return -1;
	if (fchown(j->staging, b->config->id_base, b->config->id_base) < 0)
		return err_sys(err, "owner of staging");
	return 0;
}

static int
make_tree(struct job *j, struct err *err)
{
	struct broker *b = j->of;
	const struct image *image = images_find(b->images, j->name);
	int layer[BROKER_LAYERS];
	size_t n = 0;

	if (image == NULL)
		return err_set(err, ERR_MISSING, "no image %s", j->name);
	if (image->nlayer > BROKER_LAYERS)
		return err_set(err, ERR_LIMIT, "too many layers");
	for (; n < image->nlayer; n++) {
		layer[n] = images_layer(b->images, image->layer[n], err);
		if (layer[n] < 0)
			break;
	}
	if (n == image->nlayer)
		j->tree = b->does->merge(b->host, layer, n, err);
	while (n > 0)
		close(layer[--n]);
	return j->tree < 0 ? -1 : 0;
}

/* fd[0] ours, fd[1] the process's; which way the bytes go, out says. */
static int
make_pipe(int fd[2], bool out, struct err *err)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	fd[0] = p[out ? 0 : 1];
	fd[1] = p[out ? 1 : 0];
	fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES); /* as much as we may have */
	if (fcntl(fd[0], F_SETFL, O_NONBLOCK) < 0)
		return err_sys(err, "pipe");
	return 0;
}

static int
confine(struct job *j, int link, int tar, int lines, struct err *err)
{
	static const char *const argv[] = { "hutch-fetch", NULL };
	struct broker *b = j->of;
	const int fd[] = { link, tar, lines };
	struct confined c = {
		.profile = PROFILE_FETCH,
		.slot = SLOTS_REST,
		.exec = b->program[PROGRAM_FETCH],
		.argv = argv,
		.fd = fd,
		.nfd = sizeof fd / sizeof *fd,
		.dir = -1,
		.memory = b->config->import_memory,
	};

	/* It works step by step and may wait. */
	if (fcntl(link, F_SETFL, 0) < 0)
		return err_sys(err, "link");
	return b->does->confine(b->host, &c, &j->instance, err);
}

static int
launch(struct job *j, int ends[2], struct err *err)
{
	auto_fd int ours = -1, theirs = -1;
	auto_fd int tar_ours = -1, tar_theirs = -1;
	auto_fd int lines_ours = -1, lines_theirs = -1;
	struct broker *b = j->of;
	int fd[2];

	if (link_pair(fd, err) < 0)
		return -1;
	ours = fd[0], theirs = fd[1];
	if (make_pipe(fd, j->export, err) < 0)
		return -1;
	tar_ours = fd[0], tar_theirs = fd[1];
	if (make_pipe(fd, true, err) < 0)
		return -1;
	lines_ours = fd[0], lines_theirs = fd[1];
	if (confine(j, theirs, tar_theirs, lines_theirs, err) < 0)
		return -1;
	if (j->export)
		j->tar = take_fd(&tar_theirs);
	j->peer = peer_new(b->loop, take_fd(&ours), ROLE_FETCH, "hutch-fetch",
	    on_message, on_gone, b);
	j->peer->job = j;
	ends[0] = take_fd(&tar_ours);
	ends[1] = take_fd(&lines_ours);
	return 0;
}

int
job_start(struct broker *b, const char *name, bool export, int ends[2],
    struct err *err)
{
	struct job *j;

	if (b->njobs >= JOBS_MOST)
		return err_set(err, ERR_BUSY,
		    "%u imports and exports are going on", b->njobs);
	j = xcalloc(1, sizeof *j);
	j->of = b;
	j->export = export;
	j->staging = j->tree = j->tar = -1;
	memcpy(j->name, name, strlen(name) + 1);
	instance_init(&j->instance);
	TAILQ_INSERT_TAIL(&b->jobs, j, next);
	b->njobs++;
	if ((export ? make_tree(j, err) : make_staging(j, err)) < 0 ||
	    launch(j, ends, err) < 0) {
		job_free(j);
		return -1;
	}
	j->end = watch_fd(b->loop, j->instance.pidfd, WATCH_READ, ended, j);
	j->deadline = watch_timer(b->loop, too_long, j);
	watch_arm(j->deadline, (int64_t)b->config->import_timeout * 1000);
	log_say(LOG_INFO, export ? "export started" : "import started", "image",
	    name, NULL);
	return 0;
}

/* ---- STORE ---- */

static bool
first_of_its_name(const struct job *j)
{
	const struct job *other;

	TAILQ_FOREACH(other, &j->of->jobs, next) {
		if (other == j)
			return true;
		if (!other->export && strcmp(other->name, j->name) == 0)
			return false;
	}
	return true;
}

static int
store_import(struct job *j, struct link_msg *reply, struct err *err)
{
	struct broker *b = j->of;
	auto_fd int staging = b->does->window(j->staging, false, err);
	auto_fd int layers = -1;

	if (staging < 0 ||
	    (layers = b->does->window(b->state.layers, true, err)) < 0)
		return -1;
	reply->fd[0] = take_fd(&staging);
	reply->fd[1] = take_fd(&layers);
	return 0;
}

int
job_store(struct job *j, uint32_t call, struct link_msg *reply, struct err *err)
{
	struct broker_job answer = { .version = BROKER_VERSION,
		.export = j->export };

	if (!j->export && !first_of_its_name(j)) {
		j->waiting = call;
		return SERVE_LATER;
	}
	if (j->export) {
		reply->fd[0] = take_fd(&j->tree);
		reply->fd[1] = take_fd(&j->tar);
	} else if (store_import(j, reply, err) < 0) {
		return -1;
	}
	reply->nfd = 2;
	memcpy(answer.name, j->name, sizeof answer.name);
	memcpy(reply->body, &answer, sizeof answer);
	reply->len = sizeof answer;
	return 0;
}
