#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "conf/conf.h"
#include "conf/models.h"
#include "daemon/broker.h"
#include "daemon/serve.h"

#define FRONT ROLE_FRONT
#define FETCH ROLE_FETCH
#define ADMIN ROLE_ADMIN
#define ONCE 0x100 /* a single time in the peer's life */

/* clang-format off */
static const struct op {
	enum broker_type type;
	unsigned	 allow;
	size_t		 body;	/* exact size; the struct is the wire */
	unsigned	 nfd;	/* exact number */
	serve_fn	*serve;
} ops[] = {
	{ BROKER_LISTENERS,	FRONT | ONCE,	0,				0, serve_listeners },
	{ BROKER_LIVE,		FRONT,		sizeof(struct broker_page),	0, serve_live },
	{ BROKER_BUILD,		FRONT,		sizeof(struct broker_build),	0, serve_build },
	{ BROKER_ATTACH,	FRONT,		sizeof(struct broker_id),	0, serve_attach },
	{ BROKER_JOIN,		FRONT,		sizeof(struct broker_id),	0, serve_join },
	{ BROKER_STOP,		FRONT,		sizeof(struct broker_id),	0, serve_stop },
	{ BROKER_FREEZE,	FRONT,		sizeof(struct broker_freeze),	0, serve_freeze },
	{ BROKER_USAGE,		FRONT,		sizeof(struct broker_id),	0, serve_usage },
	{ BROKER_IMPORT,	FRONT,		sizeof(struct broker_name),	0, serve_import },
	{ BROKER_EXPORT,	FRONT,		sizeof(struct broker_name),	0, serve_export },
	{ BROKER_IMAGES,	FRONT,		0,				0, serve_images },
	{ BROKER_IMAGE_RM,	FRONT,		sizeof(struct broker_name),	0, serve_image_rm },
	{ BROKER_STORE,		FETCH | ONCE,	0,				0, serve_store },
	{ BROKER_COMMIT,	FETCH,		sizeof(struct broker_layer),	0, serve_commit },
	{ BROKER_RECORD,	FETCH | ONCE,	sizeof(struct broker_record),	0, serve_record },
	{ BROKER_LEND,		ADMIN,		0,				1, serve_lend },
	{ BROKER_MODEL,		FRONT,		0,				0, serve_model },
};
/* clang-format on */

static const struct op *
permitted(struct peer *p, const struct link_msg *m)
{
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		const struct op *op = &ops[i];
		uint32_t bit = 1u << i;

		if (op->type != m->type)
			continue;
		if (!(op->allow & p->role) || op->body != m->len ||
		    m->nfd != op->nfd || m->call == 0 ||
		    (op->allow & ONCE && p->spent & bit))
			return NULL;
		p->spent |= bit;
		return op;
	}
	return NULL;
}

static void
reply_error(struct link_msg *reply, const struct err *why)
{
	link_msg_drop(reply);
	reply->type = BROKER_ERR;
	reply->len = sizeof *why;
	memcpy(reply->body, why, sizeof *why);
}

int
broker_serve(struct broker *b, struct peer *p, struct link_msg *m,
    struct err *err)
{
	static const struct link_msg nothing;
	static struct link_msg reply; /* 16 KiB, and one at a time */
	const struct op *op = permitted(p, m);
	struct err why = { 0 }; /* it is sent whole: none of root's stack */
	int r;

	if (op == NULL)
		return err_set(err, ERR_DENIED,
		    "%s may not send %u with %zu bytes and %u descriptors",
		    p->name, m->type, m->len, m->nfd);
	reply = nothing;
	reply.type = BROKER_OK;
	reply.call = m->call;
	r = op->serve(b, p, m, &reply, &why);
	if (r == SERVE_LATER)
		return 0;
	if (r < 0)
		reply_error(&reply, &why);
	return peer_send(p, &reply, err);
}

void
broker_reply(struct peer *p, struct link_msg *reply, uint32_t call)
{
	struct err err;

	reply->call = call;
	if (peer_send(p, reply, &err) < 0)
		log_err(LOG_WARN, &err, "answer not sent", "peer", p->name,
		    NULL);
}

void
broker_tell(struct broker *b, struct link_msg *m)
{
	m->call = 0;
	if (b->front == NULL)
		link_msg_drop(m);
	else
		broker_reply(b->front, m, 0);
}

static int
printed(const struct broker *b, void (*print)(const struct config *, FILE *),
    struct err *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int fd;

	if (f == NULL)
		return err_sys(err, "configuration");
	print(b->config, f);
	fd = fclose(f) != 0 ? err_sys(err, "configuration")
			    : file_memfd("hutch.conf", text, n, err);
	explicit_bzero(text, n); /* there may be keys in it */
	free(text);
	return fd;
}

int
broker_config(const struct broker *b, struct err *err)
{
	return printed(b, conf_print, err);
}

int
broker_models(const struct broker *b, struct err *err)
{
	return printed(b, conf_print_models, err);
}

static bool
stood_on(void *arg, const uint8_t digest[BROKER_DIGEST])
{
	struct broker *b = arg;

	return boxes_stand_on(b->boxes, digest);
}

void
broker_collect(struct broker *b)
{
	if (b->njobs == 0 && images_collect(b->images, stood_on, b) > 0)
		trash_empty(b->trash);
}
