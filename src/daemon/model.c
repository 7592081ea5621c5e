#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/broker.h"
#include "daemon/model.h"
#include "isolator/backend.h"
#include "wire/loop.h"

#define DELAY_FIRST 50
#define DELAY_MOST 5000
#define LIVED_WELL 10000 /* ms; after that the next delay is short again */
#define ENV_MOST 900     /* bytes; there is room for 1,000 with argv */

struct model {
	struct broker *of;
	uint32_t slot;
	struct instance instance;
	struct peer *peer;
	struct watch *end;
	int64_t started, delay, not_before;
	bool runs;
};

struct model *
model_new(struct broker *b, uint32_t slot)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->of = b;
	m->slot = slot;
	m->delay = DELAY_FIRST;
	instance_init(&m->instance);
	return m;
}

static void
let_go(struct model *m)
{
	watch_free(take_ptr(&m->end));
	peer_free(m->peer);
	m->peer = NULL;
	m->runs = false;
}

void
model_free(struct model *m)
{
	if (m == NULL)
		return;
	let_go(m);
	free(m);
}

bool
model_runs(const struct model *m)
{
	return m != NULL && m->runs;
}

void
model_kill(struct model *m)
{
	struct err err;

	if (model_runs(m) && m->of->does->backend->stop(&m->instance, &err) < 0)
		log_err(LOG_ERROR, &err, "hutch-model not stopped", NULL);
}

static void
ended(void *arg, int what)
{
	struct model *m = arg;
	struct broker *b = m->of;
	siginfo_t si = { 0 };
	auto_free char *status = NULL;

	(void)what;
	waitid(P_PIDFD, (id_t)m->instance.pidfd, &si, WEXITED);
	status = xasprintf("%d", si.si_status);
	log_say(b->stopping ? LOG_INFO : LOG_ERROR, "hutch-model ended",
	    si.si_code == CLD_EXITED ? "exit" : "signal", status, NULL);
	let_go(m);
	b->does->drop(&m->instance);
	if (clock_ms() - m->started > LIVED_WELL)
		m->delay = DELAY_FIRST;
	m->not_before = clock_ms() + m->delay;
	m->delay = m->delay * 2 > DELAY_MOST ? DELAY_MOST : m->delay * 2;
	b->idle(b);
}

/* It has nothing to ask. */
static int
on_message(void *arg, struct peer *p, struct link_msg *msg, struct err *err)
{
	(void)arg;
	return err_set(err, ERR_DENIED, "%s may not send %u", p->name,
	    msg->type);
}

static void
on_gone(void *arg, struct peer *p)
{
	(void)p;
	model_kill(arg);
}

/* ---- the start ---- */

/* How this host reaches others; nothing else of our environment. */
static void
proxies(const char **env, size_t most)
{
	static const char *const names[] = { "http_proxy=", "https_proxy=",
		"HTTPS_PROXY=", "all_proxy=", "ALL_PROXY=", "no_proxy=",
		"NO_PROXY=" };
	size_t n = 0, bytes = 0;

	env[n++] = "PATH=/usr/bin";
	env[n++] = "LANG=C.UTF-8";
	for (char **e = environ; *e != NULL; e++)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			if (strncmp(*e, names[i], strlen(names[i])) != 0 ||
			    n + 1 >= most)
				continue;
			if (bytes + strlen(*e) > ENV_MOST) {
				log_say(LOG_WARN, "too long for hutch-model",
				    "variable", names[i], NULL);
				continue;
			}
			bytes += strlen(*e) + 1;
			env[n++] = *e;
		}
	env[n] = NULL;
}

static int
start(struct model *m, struct err *err)
{
	static const char *const argv[] = { "hutch-model", NULL };
	struct broker *b = m->of;
	auto_fd int ours = -1, theirs = -1;
	const char *env[12];
	struct confined c = {
		.profile = PROFILE_MODEL,
		.slot = m->slot,
		.exec = b->program[PROGRAM_MODEL],
		.argv = argv,
		.env = env,
		.fd = &theirs,
		.nfd = 1,
		.dir = -1,
		.memory = b->config->model_memory,
	};
	int fd[2];

	proxies(env, sizeof env / sizeof *env);
	if (link_pair(fd, err) < 0)
		return -1;
	ours = fd[0], theirs = fd[1];
	if (b->does->confine(b->host, &c, &m->instance, err) < 0)
		return err_wrap(err, "hutch-model");
	m->peer = peer_new(b->loop, take_fd(&ours), ROLE_MODEL, "hutch-model",
	    on_message, on_gone, m);
	m->end = watch_fd(b->loop, m->instance.pidfd, WATCH_READ, ended, m);
	m->runs = true;
	m->started = clock_ms();
	log_say(LOG_INFO, "hutch-model started", NULL);
	return 0;
}

static int
say(struct model *m, uint16_t type, int fd, struct err *err)
{
	struct link_msg msg = { .type = type, .nfd = 1, .fd = { fd } };

	return fd < 0 ? -1 : peer_send(m->peer, &msg, err);
}

void
model_reload(struct model *m)
{
	struct err err;

	if (model_runs(m) &&
	    say(m, BROKER_RELOAD, broker_models(m->of, &err), &err) < 0)
		log_err(LOG_ERROR, &err, "hutch-model not told", NULL);
}

int
model_stream(struct model *m, struct err *err)
{
	auto_fd int ours = -1;
	int fd[2];

	if (m == NULL || m->of->stopping)
		return err_set(err, ERR_BUSY, "the daemon is stopping");
	if (!m->runs) {
		if (clock_left(m->not_before) > 0)
			return err_set(err, ERR_BUSY, "hutch-model has ended");
		if (start(m, err) < 0 ||
		    say(m, BROKER_RELOAD, broker_models(m->of, err), err) < 0)
			return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		fd) < 0)
		return err_sys(err, "stream to hutch-model");
	ours = fd[0];
	if (say(m, BROKER_STREAM, fd[1], err) < 0)
		return -1;
	return take_fd(&ours);
}
