#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "daemon/lent.h"

#define LENT_MOST 256

struct lent {
	struct {
		int fd;
		int64_t until;
		uint8_t handle[BROKER_ID];
		dev_t dev;
		ino_t ino;
	} at[LENT_MOST];
};

struct lent *
lent_new(void)
{
	struct lent *l = xcalloc(1, sizeof *l);

	for (size_t i = 0; i < LENT_MOST; i++)
		l->at[i].fd = -1;
	return l;
}

static void
forget(struct lent *l, size_t i)
{
	close(l->at[i].fd);
	l->at[i].fd = -1;
}

static void
expire(struct lent *l)
{
	int64_t now = clock_ms();

	for (size_t i = 0; i < LENT_MOST; i++)
		if (l->at[i].fd >= 0 && l->at[i].until <= now)
			forget(l, i);
}

void
lent_free(struct lent *l)
{
	for (size_t i = 0; i < LENT_MOST; i++)
		if (l->at[i].fd >= 0)
			forget(l, i);
	free(l);
}

/* The place of the same directory, lent before; LENT_MOST: none. */
static size_t
same(const struct lent *l, const struct stat *st)
{
	size_t i = 0;

	while (i < LENT_MOST &&
	    (l->at[i].fd < 0 || l->at[i].dev != st->st_dev ||
		l->at[i].ino != st->st_ino))
		i++;
	return i;
}

/* A free place; if there is none, that of the oldest. */
static size_t
place(struct lent *l)
{
	size_t oldest = 0;

	for (size_t i = 0; i < LENT_MOST; i++) {
		if (l->at[i].fd < 0)
			return i;
		if (l->at[i].until < l->at[oldest].until)
			oldest = i;
	}
	forget(l, oldest);
	return oldest;
}

int
lent_add(struct lent *l, int given, uint8_t handle[BROKER_ID], struct err *err)
{
	auto_fd int fd = given;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "lent directory");
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "not a directory");
	expire(l);
	i = same(l, &st);
	if (i < LENT_MOST) { /* a mount may be another one by now */
		memcpy(handle, l->at[i].handle, BROKER_ID);
		forget(l, i);
	} else {
		if (getrandom(handle, BROKER_ID, 0) != BROKER_ID)
			return err_sys(err, "random handle");
		i = place(l);
		memcpy(l->at[i].handle, handle, BROKER_ID);
	}
	l->at[i].dev = st.st_dev;
	l->at[i].ino = st.st_ino;
	l->at[i].until = clock_ms() + BROKER_LENT_SECONDS * 1000;
	l->at[i].fd = take_fd(&fd);
	return 0;
}

int
lent_find(struct lent *l, const uint8_t handle[BROKER_ID], struct err *err)
{
	expire(l);
	for (size_t i = 0; i < LENT_MOST; i++)
		if (l->at[i].fd >= 0 &&
		    memcmp(l->at[i].handle, handle, BROKER_ID) == 0)
			return l->at[i].fd;
	return err_set(err, ERR_MISSING, "no such lent directory");
}
