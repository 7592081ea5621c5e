#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/broker.h"
#include "daemon/front.h"
#include "daemon/job.h"
#include "isolator/backend.h"
#include "wire/loop.h"

#define DELAY_FIRST 50
#define DELAY_MOST 1000
#define LIVED_WELL 10000 /* ms; after that the next delay is short again */
#define LAST_WORDS 2000  /* from the link's end to its own, at a stop */

struct front {
	struct broker *of;
	uint32_t slot;
	struct instance instance;
	struct watch *end, *again, *deadline;
	int64_t started, delay;
	bool runs;
	void (*gone)(struct broker *); /* drained; NULL: it has to run */
};

static void
start_again(void *arg, int what)
{
	struct front *f = arg;
	struct err err;

	(void)what;
	if (front_start(f, &err) < 0) {
		log_err(LOG_ERROR, &err, "front not started", NULL);
		watch_arm(f->again, f->delay);
	}
}

static void
too_long(void *arg, int what)
{
	(void)what;
	log_say(LOG_WARN, "front did not finish in time", NULL);
	front_kill(arg);
}

struct front *
front_new(struct broker *b, uint32_t slot)
{
	struct front *f = xcalloc(1, sizeof *f);

	f->of = b;
	f->slot = slot;
	instance_init(&f->instance);
	f->delay = DELAY_FIRST;
	f->again = watch_timer(b->loop, start_again, f);
	f->deadline = watch_timer(b->loop, too_long, f);
	return f;
}

static void
let_go(struct front *f)
{
	watch_free(f->end);
	f->end = NULL;
	peer_free(f->of->front);
	f->of->front = NULL;
	f->runs = false;
}

void
front_free(struct front *f)
{
	let_go(f);
	watch_free(f->again);
	watch_free(f->deadline);
	free(f);
}

void
front_kill(struct front *f)
{
	struct err err;

	if (f->runs && f->of->does->backend->stop(&f->instance, &err) < 0)
		log_err(LOG_ERROR, &err, "front not stopped", NULL);
}

static void
log_end(const siginfo_t *si, bool wanted)
{
	auto_free char *status = xasprintf("%d", si->si_status);

	log_say(wanted ? LOG_INFO : LOG_ERROR, "front ended",
	    si->si_code == CLD_EXITED ? "exit" : "signal", status, NULL);
}

static void
ended(void *arg, int what)
{
	struct front *f = arg;
	struct broker *b = f->of;
	siginfo_t si = { 0 };

	(void)what;
	waitid(P_PIDFD, (id_t)f->instance.pidfd, &si, WEXITED);
	log_end(&si, f->gone != NULL);
	let_go(f);
	b->does->drop(&f->instance);
	jobs_kill(b); /* their pipes led to it */
	watch_stop(f->deadline);
	if (f->gone != NULL) {
		f->gone(b);
		return;
	}
	if (clock_ms() - f->started > LIVED_WELL)
		f->delay = DELAY_FIRST;
	watch_arm(f->again, f->delay);
	f->delay = f->delay * 2 > DELAY_MOST ? DELAY_MOST : f->delay * 2;
}

static int
on_message(void *arg, struct peer *p, struct link_msg *m, struct err *err)
{
	struct front *f = arg;

	return broker_serve(f->of, p, m, err);
}

/* Told to leave, it closes the link a moment before its end: let it. */
static void
on_gone(void *arg, struct peer *p)
{
	struct front *f = arg;

	(void)p;
	if (f->gone != NULL)
		watch_arm(f->deadline, LAST_WORDS);
	else
		front_kill(f);
}

int
front_start(struct front *f, struct err *err)
{
	static const char *const argv[] = { "hutch-front", NULL };
	struct broker *b = f->of;
	auto_fd int ours = -1, theirs = -1;
	struct confined c = {
		.profile = PROFILE_FRONT,
		.slot = f->slot,
		.exec = b->program[PROGRAM_FRONT],
		.argv = argv,
		.fd = &theirs,
		.nfd = 1,
		.dir = b->state.front,
		.memory = b->config->front_memory,
	};
	int fd[2];

	if (link_pair(fd, err) < 0)
		return -1;
	ours = fd[0], theirs = fd[1];
	if (b->does->confine(b->host, &c, &f->instance, err) < 0)
		return err_wrap(err, "hutch-front");
	b->generation++;
	b->front = peer_new(b->loop, take_fd(&ours), ROLE_FRONT, "hutch-front",
	    on_message, on_gone, f);
	f->end = watch_fd(b->loop, f->instance.pidfd, WATCH_READ, ended, f);
	f->runs = true;
	f->started = clock_ms();
	log_say(LOG_INFO, "front started", NULL);
	return 0;
}

void
front_drain(struct front *f, int64_t ms, void (*gone)(struct broker *))
{
	struct link_msg m = { .type = BROKER_DRAIN };

	f->gone = gone;
	watch_stop(f->again);
	if (!f->runs) {
		gone(f->of);
		return;
	}
	broker_tell(f->of, &m);
	watch_arm(f->deadline, ms);
}
