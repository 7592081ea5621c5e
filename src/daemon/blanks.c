#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/blanks.h"
#include "daemon/broker.h"
#include "daemon/wayout.h"
#include "isolator/backend.h"
#include "isolator/net.h"
#include "wire/loop.h"

#define PAUSE_MS 2    /* after the answer that used one up */
#define AGAIN_MS 1000 /* after one could not be made */
#define BLANKS_MAX 64

struct shelf {
	struct ready ready[BLANKS_MAX];
	unsigned n, want;
};

struct blanks {
	struct broker *broker;
	struct watch *pause;
	struct shelf shelf[BROKER_NETS];
	unsigned serial;
	bool expects;
	struct cgroup_limits limits;
	struct box_sizes sizes;
};

static int
make_in(struct blanks *bl, enum broker_net net, struct ready *r,
    struct err *err)
{
	struct broker *b = bl->broker;
	struct net_lease lease = { .netns = -1 };
	char name[32];
	struct blank_want w = { .name = name,
		.slot = r->slot,
		.owner = host_first_id(b->host, b->owner_slot),
		.limits = bl->expects ? &bl->limits : NULL,
		.sizes = bl->expects ? &bl->sizes : NULL };

	if (net == BROKER_NET_NAT && wayout_take(b, &lease, err) < 0)
		return -1;
	r->netns = w.net = lease.netns;
	r->ipv4 = lease.ipv4;
	snprintf(name, sizeof name, "blank-%u", bl->serial++);
	r->blank = b->does->backend->prepare(b->host, &w, err);
	if (r->blank != NULL)
		return 0;
	if (r->netns >= 0)
		close(r->netns);
	return -1;
}

static int
make(struct blanks *bl, enum broker_net net, struct err *err)
{
	struct shelf *s = &bl->shelf[net];
	struct ready *r = &s->ready[s->n];

	if (slots_take(bl->broker->slots, &r->slot, err) < 0)
		return -1;
	if (make_in(bl, net, r, err) < 0) {
		slots_give(bl->broker->slots, r->slot);
		return -1;
	}
	s->n++;
	return 0;
}

/* One a turn: a request that has come meanwhile goes first. */
static void
fill(void *arg, int what)
{
	struct blanks *bl = arg;
	struct err err;

	(void)what;
	if (bl->broker->stopping)
		return;
	for (int net = 0; net < BROKER_NETS; net++) {
		struct shelf *s = &bl->shelf[net];

		if (s->n >= s->want)
			continue;
		if (make(bl, (enum broker_net)net, &err) == 0) {
			watch_arm(bl->pause, 0);
			return;
		}
		log_err(LOG_DEBUG, &err, "no blank", NULL);
		watch_arm(bl->pause, AGAIN_MS);
	}
}

struct blanks *
blanks_new(struct broker *b)
{
	struct blanks *bl = xcalloc(1, sizeof *bl);

	bl->broker = b;
	bl->pause = watch_timer(b->loop, fill, bl);
	return bl;
}

void
blanks_free(struct blanks *bl)
{
	if (bl == NULL)
		return;
	for (int net = 0; net < BROKER_NETS; net++)
		for (unsigned i = 0; i < bl->shelf[net].n; i++) {
			struct ready *r = &bl->shelf[net].ready[i];

			bl->broker->does->backend->discard(bl->broker->host,
			    r->blank);
			if (r->netns >= 0)
				close(r->netns);
		}
	watch_free(bl->pause);
	free(bl);
}

void
blanks_expect(struct blanks *bl, const struct broker_build *q)
{
	if (bl == NULL)
		return;
	bl->expects = true;
	bl->limits = (struct cgroup_limits){ q->memory, q->pids, q->cpu_milli,
		q->io_weight };
	bl->sizes = (struct box_sizes){ q->root_bytes, q->work_bytes };
}

bool
blanks_take(struct blanks *bl, enum broker_net net, struct ready *out)
{
	struct shelf *s;

	if (bl == NULL)
		return false;
	s = &bl->shelf[net];
	s->want = bl->broker->config->blanks < BLANKS_MAX
	    ? bl->broker->config->blanks
	    : BLANKS_MAX;
	if (s->want > 0)
		watch_arm(bl->pause, PAUSE_MS);
	if (s->n == 0)
		return false;
	*out = s->ready[--s->n];
	return true;
}
