#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "daemon/broker.h"
#include "daemon/check.h"
#include "daemon/job.h"
#include "daemon/serve.h"
#include "daemon/warm.h"

/* ---- from the front ---- */

static int
start(struct broker *b, const struct link_msg *m, bool export,
    struct link_msg *reply, struct err *err)
{
	struct broker_name q;
	int ends[2];

	memcpy(&q, m->body, sizeof q);
	if (b->stopping)
		return err_set(err, ERR_BUSY, "the daemon is stopping");
	if (check_name(&q, err) < 0 ||
	    job_start(b, q.name, export, ends, err) < 0)
		return -1;
	reply->fd[0] = ends[0];
	reply->fd[1] = ends[1];
	reply->nfd = 2;
	return 0;
}

int
serve_import(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	(void)p;
	return start(b, m, false, reply, err);
}

int
serve_export(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	(void)p;
	return start(b, m, true, reply, err);
}

int
serve_images(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	int dir = b->does->window(b->state.images, true, err);

	(void)p;
	(void)m;
	if (dir < 0)
		return -1;
	reply->fd[reply->nfd++] = dir;
	return 0;
}

int
serve_image_rm(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_name q;

	(void)p;
	(void)reply;
	memcpy(&q, m->body, sizeof q);
	if (check_name(&q, err) < 0 ||
	    images_remove(b->images, q.name, err) < 0)
		return -1;
	log_say(LOG_INFO, "image removed", "image", q.name, NULL);
	warm_trim(b->warm);
	broker_collect(b);
	return 0;
}

/* ---- from a fetcher ---- */

int
serve_store(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	(void)b;
	return job_store(p->job, m->call, reply, err);
}

static int
importing(const struct job *j, struct err *err)
{
	if (j->export)
		return err_set(err, ERR_DENIED, "an export changes nothing");
	return 0;
}

int
serve_commit(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_layer q;

	(void)reply;
	memcpy(&q, m->body, sizeof q);
	if (importing(p->job, err) < 0)
		return -1;
	return images_commit(b->images, p->job->staging, q.digest, err);
}

int
serve_record(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_record q;

	(void)reply;
	memcpy(&q, m->body, sizeof q);
	if (importing(p->job, err) < 0 || check_record(&q, err) < 0)
		return -1;
	if (strcmp(q.name, p->job->name) != 0)
		return err_set(err, ERR_DENIED, "this import is of %s",
		    p->job->name);
	if (images_record(b->images, p->job->staging, &q, err) < 0)
		return -1;
	log_say(LOG_INFO, "image imported", "image", q.name, NULL);
	warm_trim(b->warm);
	return 0;
}
