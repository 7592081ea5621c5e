#include <string.h>
#include "base/err.h"
#include "conf/config.h"
#include "daemon/check.h"
#include "daemon/images.h"
#include "isolator/spec.h"
#include "wire/broker.h"

#define IO_WEIGHT_MOST 10000

bool
check_zero(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

bool
check_text(const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	return n < room && check_zero(text + n, room - n);
}

static bool
plain_host(const char *name)
{
	return name[0] != '-' && name[0] != '.' &&
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] ==
	    '\0';
}

static int
check_shape(const struct broker_build *q, struct err *err)
{
	if (check_zero(q->id, sizeof q->id))
		return err_set(err, ERR_INVALID, "sandbox id is empty");
	if (!check_text(q->hostname, sizeof q->hostname) ||
	    !plain_host(q->hostname))
		return err_set(err, ERR_INVALID, "hostname");
	if (q->net >= BROKER_NETS || q->hardened > 1 || q->readonly > 1 ||
	    q->pad != 0)
		return err_set(err, ERR_INVALID, "flags");
	if (q->nlayer > BROKER_LAYERS || q->nmount > BROKER_MOUNTS)
		return err_set(err, ERR_INVALID, "%u layers and %u mounts",
		    q->nlayer, q->nmount);
	if (!check_zero(q->layer[q->nlayer],
		sizeof q->layer - q->nlayer * sizeof *q->layer) ||
	    !check_zero(q->mount + q->nmount,
		sizeof q->mount - q->nmount * sizeof *q->mount))
		return err_set(err, ERR_INVALID, "bytes after the last");
	if (!check_text(q->dir, sizeof q->dir))
		return err_set(err, ERR_INVALID, "directory");
	if ((q->nlayer > 0) == (q->dir[0] != '\0'))
		return err_set(err, ERR_INVALID,
		    "takes layers or a directory for its root");
	if (q->dir[0] != '\0' && q->dir[0] != '/' && q->dir[0] != '#')
		return err_set(err, ERR_INVALID, "directory is not absolute");
	return 0;
}

static int
check_mounts(const struct broker_build *q, struct err *err)
{
	for (unsigned i = 0; i < q->nmount; i++) {
		const struct broker_mount *m = &q->mount[i];

		if (!check_text(m->from, sizeof m->from) ||
		    !check_text(m->at, sizeof m->at) || m->readonly > 1 ||
		    !check_zero(m->pad, sizeof m->pad) || m->from[0] != '/')
			return err_set(err, ERR_INVALID, "mount %u", i);
		if (spec_path_check(m->at, err) < 0)
			return err_wrap(err, "mount %u", i);
	}
	return 0;
}

/* ---- ceilings: the largest that any type of the configuration has ---- */

static int
fit(uint64_t *asked, uint64_t most, const char *what, struct err *err)
{
	if (*asked == 0)
		*asked = most;
	if (*asked > most)
		return err_set(err, ERR_DENIED,
		    "%s: %llu is more than any type has (%llu)", what,
		    (unsigned long long)*asked, (unsigned long long)most);
	return 0;
}

static int
fit32(uint32_t *asked, uint64_t most, const char *what, struct err *err)
{
	uint64_t n = *asked;

	if (fit(&n, most, what, err) < 0)
		return -1;
	*asked = (uint32_t)n;
	return 0;
}

static void
raise_to(uint64_t *most, uint64_t n)
{
	if (*most < n)
		*most = n;
}

static int
check_limits(const struct config *c, struct broker_build *q, struct err *err)
{
	uint64_t memory = 0, root = 0, work = 0, shm = 0;
	uint64_t pids = 0, cpu = 0, nofile = 0;

	for (size_t i = 0; i < c->ntype; i++) {
		const struct conf_limits *l = &c->type[i].limits;

		raise_to(&memory, l->memory);
		raise_to(&root, l->root);
		raise_to(&work, l->workspace);
		raise_to(&shm, l->shm);
		raise_to(&pids, l->pids);
		raise_to(&cpu, l->cpu_milli);
		raise_to(&nofile, l->nofile);
	}
	if (q->io_weight > IO_WEIGHT_MOST)
		return err_set(err, ERR_INVALID, "io weight %u", q->io_weight);
	if (fit(&q->memory, memory, "memory", err) < 0 ||
	    fit(&q->root_bytes, root, "root size", err) < 0 ||
	    fit(&q->work_bytes, work, "workspace size", err) < 0 ||
	    fit(&q->shm_bytes, shm, "shm size", err) < 0 ||
	    fit32(&q->pids, pids, "pids", err) < 0 ||
	    fit32(&q->cpu_milli, cpu, "cpus", err) < 0 ||
	    fit32(&q->nofile, nofile, "nofile", err) < 0)
		return -1;
	return 0;
}

int
check_build(const struct config *c, struct broker_build *q, struct err *err)
{
	if (check_shape(q, err) < 0 || check_mounts(q, err) < 0)
		return -1;
	return check_limits(c, q, err);
}

int
check_name(const struct broker_name *q, struct err *err)
{
	if (!check_text(q->name, sizeof q->name) || !images_good_name(q->name))
		return err_set(err, ERR_INVALID,
		    "image name: takes letters, digits and . _ - / : @ +");
	return 0;
}

int
check_record(const struct broker_record *q, struct err *err)
{
	if (!check_text(q->name, sizeof q->name) || !images_good_name(q->name))
		return err_set(err, ERR_INVALID, "image name");
	if (q->nlayer == 0 || q->nlayer > BROKER_LAYERS || q->pad != 0 ||
	    !check_zero(q->layer[q->nlayer],
		sizeof q->layer - q->nlayer * sizeof *q->layer))
		return err_set(err, ERR_INVALID, "%u layers", q->nlayer);
	return 0;
}
