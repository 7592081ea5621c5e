#include <stdlib.h>
#include <unistd.h>
#include "base/str.h"
#include "daemon/broker.h"
#include "daemon/later.h"
#include "daemon/wayout.h"
#include "isolator/backend.h"
#include "wire/loop.h"

#define PAUSE_MS 20 /* no sandbox was asked for so long */
#define NEXT_MS 2   /* a network namespace takes about one to make */
#define FULL 64

struct later {
	struct broker *broker;
	struct watch *pause;
	bool armed;
	struct instance gone[FULL];
	unsigned ngone;
	int fd[FULL];
	unsigned nfd;
};

static void
drop_all(struct later *p)
{
	while (p->ngone > 0)
		p->broker->does->drop(&p->gone[--p->ngone]);
}

static void
close_all(struct later *p)
{
	while (p->nfd > 0)
		close(p->fd[--p->nfd]);
}

static void
begin(struct later *p, int64_t ms)
{
	p->armed = true;
	watch_arm(p->pause, ms);
}

static void
in_a_pause(void *arg, int what)
{
	struct later *p = arg;

	(void)what;
	p->armed = false;
	drop_all(p);
	close_all(p);
	host_tidy(p->broker->host);
	if (wayout_fill(p->broker))
		begin(p, NEXT_MS);
}

struct later *
later_new(struct broker *b)
{
	struct later *p = xcalloc(1, sizeof *p);

	p->broker = b;
	p->pause = watch_timer(b->loop, in_a_pause, p);
	return p;
}

void
later_free(struct later *p)
{
	if (p == NULL)
		return;
	drop_all(p);
	close_all(p);
	watch_free(p->pause);
	free(p);
}

void
later_put_off(struct later *p)
{
	if (p != NULL)
		begin(p, PAUSE_MS);
}

void
later_drop(struct broker *b, struct instance *in)
{
	struct later *p = b->later;

	if (p == NULL || b->stopping) {
		b->does->drop(in);
		return;
	}
	if (p->ngone == FULL)
		drop_all(p);
	p->gone[p->ngone++] = *in;
	instance_init(in);
	if (!p->armed)
		begin(p, PAUSE_MS);
}

void
later_close(struct broker *b, int fd)
{
	struct later *p = b->later;

	if (fd < 0)
		return;
	if (p == NULL || b->stopping) {
		close(fd);
		return;
	}
	if (p->nfd == FULL)
		close_all(p);
	p->fd[p->nfd++] = fd;
	if (!p->armed)
		begin(p, PAUSE_MS);
}
