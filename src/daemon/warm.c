#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/broker.h"
#include "daemon/warm.h"
#include "isolator/zygote.h"
#include "wire/link.h"
#include "wire/loop.h"

#define PROGRAM_MAX (1u << 20)
#define GATE_MS 15000  /* a copy that takes longer is not let in */
#define AGAIN_MS 30000 /* after a zygote has died */
#define ZYGOTES_MAX 8

struct kept {
	struct warm *of;
	struct zygote zygote; /* .pid -1: dead, until .again */
	bool ready;
	int64_t again;
	struct watch *said;
	uint8_t (*layer)[BROKER_DIGEST];
	size_t nlayer;
	LIST_ENTRY(kept) next;
};

/* A copy that has set out and is not inside yet. */
struct passing {
	struct warm *of;
	uint8_t box[BROKER_ID];
	int gate;
	struct watch *at_gate, *late;
	LIST_ENTRY(passing) next;
};

struct warm {
	struct broker *broker;
	uid_t owner;
	char *cell, *zygote; /* programs */
	LIST_HEAD(, kept) kept;
	LIST_HEAD(, passing) passing;
	unsigned n;
};

/* ---- programs ---- */

static char *
program(int dir, const char *name, struct err *err)
{
	auto_str struct str text = { 0 };

	if (file_read_at(dir, name, &text, PROGRAM_MAX, err) < 0)
		return NULL;
	return str_take(&text);
}

struct warm *
warm_new(struct broker *b, const char *libexec, uid_t owner)
{
	struct warm *w = xcalloc(1, sizeof *w);
	auto_fd int dir = open(libexec, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	w->broker = b;
	w->owner = owner;
	LIST_INIT(&w->kept);
	LIST_INIT(&w->passing);
	w->cell = program(dir, "hutch_cell.py", &err);
	if (w->cell != NULL)
		w->zygote = program(dir, "hutch_zygote.py", &err);
	if (w->zygote != NULL)
		return w;
	log_err(LOG_WARN, &err, "no warm interpreters", NULL);
	warm_free(w);
	return NULL;
}

/* ---- zygotes ---- */

static void
die(struct kept *k)
{
	watch_free(k->said);
	k->said = NULL;
	zygote_stop(&k->zygote);
	k->ready = false;
	k->again = clock_ms() + AGAIN_MS;
}

static void
forget(struct kept *k)
{
	LIST_REMOVE(k, next);
	k->of->n--;
	die(k);
	free(k->layer);
	free(k);
}

static void
said(void *arg, int what)
{
	struct kept *k = arg;
	struct link_msg m;
	struct err err;

	(void)what;
	if (link_recv(k->zygote.link, &m, &err) == 1) {
		link_msg_drop(&m);
		if (!k->ready)
			log_say(LOG_INFO, "interpreter is warm", NULL);
		k->ready = true;
		return;
	}
	log_say(LOG_WARN,
	    "a warm interpreter has ended; cells get ordinary ones", NULL);
	die(k);
}

static bool
same(const uint8_t (*a)[BROKER_DIGEST], size_t na,
    const uint8_t (*b)[BROKER_DIGEST], size_t nb)
{
	return na == nb && memcmp(a, b, na * sizeof *a) == 0;
}

static struct kept *
find(struct warm *w, const struct live *l)
{
	struct kept *k;

	LIST_FOREACH(k, &w->kept, next)
	if (same((const void *)k->layer, k->nlayer, (const void *)l->layer,
		l->nlayer))
		return k;
	return NULL;
}

static bool
trusted(const struct broker *b, const uint8_t (*layer)[BROKER_DIGEST], size_t n)
{
	for (size_t i = 0; i < b->config->ntype; i++) {
		const char *name = b->config->type[i].image;
		const struct image *im = name != NULL && b->config->type[i].warm
		    ? images_find(b->images, name)
		    : NULL;

		if (im != NULL &&
		    same((const void *)im->layer, im->nlayer, layer, n))
			return true;
	}
	return false;
}

static int
start(struct kept *k, struct err *err)
{
	static const char *const argv[] = { "python3", "-I",
		"/tmp/hutch_zygote.py", NULL };
	struct broker *b = k->of->broker;
	const char *const programs[] = { "hutch_cell.py", k->of->cell,
		"hutch_zygote.py", k->of->zygote, NULL };
	int layer[BROKER_LAYERS], r = 0;
	size_t n = 0;
	struct zygote_want want = { layer, k->nlayer, k->of->owner, programs,
		argv };

	for (; r == 0 && n < k->nlayer; n++) {
		layer[n] = images_layer(b->images, k->layer[n], err);
		if (layer[n] < 0)
			break;
	}
	r = n < k->nlayer ? -1 : zygote_start(b->host, &want, &k->zygote, err);
	while (n > 0)
		close(layer[--n]);
	if (r == 0)
		k->said =
		    watch_fd(b->loop, k->zygote.link, WATCH_READ, said, k);
	return r;
}

static struct kept *
add(struct warm *w, const struct live *l)
{
	struct kept *k = xcalloc(1, sizeof *k);

	k->of = w;
	zygote_init(&k->zygote);
	k->nlayer = l->nlayer;
	k->layer = xcalloc(l->nlayer, sizeof *k->layer);
	memcpy(k->layer, l->layer, l->nlayer * sizeof *k->layer);
	LIST_INSERT_HEAD(&w->kept, k, next);
	w->n++;
	return k;
}

void
warm_heat(struct warm *w, const struct live *l)
{
	struct kept *k;
	struct err err;

	if (w == NULL || l->nlayer == 0)
		return;
	k = find(w, l);
	if (k == NULL) {
		if (w->n == ZYGOTES_MAX ||
		    !trusted(w->broker, (const void *)l->layer, l->nlayer))
			return;
		k = add(w, l);
	}
	if (k->zygote.pid > 0 || clock_ms() < k->again)
		return;
	if (start(k, &err) < 0) {
		log_err(LOG_WARN, &err, "no warm interpreter", NULL);
		k->again = clock_ms() + AGAIN_MS;
	}
}

void
warm_trim(struct warm *w)
{
	struct kept *k, *after;

	for (k = w != NULL ? LIST_FIRST(&w->kept) : NULL; k != NULL;
	     k = after) {
		after = LIST_NEXT(k, next);
		if (!trusted(w->broker, (const void *)k->layer, k->nlayer))
			forget(k);
	}
}

/* ---- copies ---- */

static void
passed(struct passing *p)
{
	LIST_REMOVE(p, next);
	watch_free(p->at_gate);
	watch_free(p->late);
	close(p->gate);
	free(p);
}

static void
at_gate(void *arg, int what)
{
	struct passing *p = arg;
	struct live *l = boxes_find(p->of->broker->boxes, p->box);
	struct err err;

	(void)what;
	if (l == NULL) {
		passed(p); /* its sandbox is gone: so will it be */
		return;
	}
	switch (zygote_admit(p->gate, &l->instance.cgroup, &err)) {
	case 0:
		return;
	case -1:
		log_err(LOG_WARN, &err, "interpreter not let in", "sandbox",
		    l->name, NULL);
		break;
	default:
		break;
	}
	passed(p);
}

static void
too_late(void *arg, int what)
{
	(void)what;
	log_say(LOG_WARN, "an interpreter took too long to come", NULL);
	passed(arg);
}

int
warm_join(struct warm *w, struct live *l, struct err *err)
{
	struct kept *k = w != NULL && l->nlayer > 0 ? find(w, l) : NULL;
	struct passing *p;
	int gate;

	if (k == NULL)
		return err_set(err, ERR_MISSING,
		    "no warm interpreter of this image");
	if (!k->ready) {
		warm_heat(w, l);
		return err_set(err, ERR_BUSY,
		    "the interpreter of this image is not warm yet");
	}
	if (zygote_join(&k->zygote, &l->instance, &gate, err) < 0)
		return -1;
	p = xcalloc(1, sizeof *p);
	p->of = w;
	p->gate = gate;
	memcpy(p->box, l->id, sizeof p->box);
	p->at_gate = watch_fd(w->broker->loop, gate, WATCH_READ, at_gate, p);
	p->late = watch_timer(w->broker->loop, too_late, p);
	watch_arm(p->late, GATE_MS);
	LIST_INSERT_HEAD(&w->passing, p, next);
	return 0;
}

void
warm_free(struct warm *w)
{
	if (w == NULL)
		return;
	while (!LIST_EMPTY(&w->passing))
		passed(LIST_FIRST(&w->passing));
	while (!LIST_EMPTY(&w->kept))
		forget(LIST_FIRST(&w->kept));
	free(w->cell);
	free(w->zygote);
	free(w);
}
