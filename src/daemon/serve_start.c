#include <fcntl.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "daemon/broker.h"
#include "daemon/model.h"
#include "daemon/serve.h"

static int
copy(int fd, struct err *err)
{
	int fresh = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return fresh >= 0 ? fresh : err_sys(err, "listener");
}

int
serve_listeners(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_hello hello = { BROKER_VERSION, b->generation };
	auto_fd int tcp = copy(b->tcp, err), native = -1, conf = -1, dir = -1;
	auto_fd int agents = -1;

	(void)p;
	(void)m;
	if (tcp < 0 || (native = copy(b->native, err)) < 0 ||
	    (agents = copy(b->agents, err)) < 0 ||
	    (conf = broker_config(b, err)) < 0 ||
	    (dir = b->does->window(b->state.front, false, err)) < 0)
		return -1;
	reply->fd[0] = take_fd(&tcp);
	reply->fd[1] = take_fd(&native);
	reply->fd[2] = take_fd(&conf);
	reply->fd[3] = take_fd(&dir);
	reply->fd[4] = take_fd(&agents);
	reply->nfd = 5;
	memcpy(reply->body, &hello, sizeof hello);
	reply->len = sizeof hello;
	return 0;
}

int
serve_lend(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	struct broker_lent lent;

	(void)p;
	m->nfd = 0; /* lent_add takes it, come what may */
	if (lent_add(b->lent, m->fd[0], lent.handle, err) < 0)
		return -1;
	memcpy(reply->body, &lent, sizeof lent);
	reply->len = sizeof lent;
	return 0;
}

int
serve_model(struct broker *b, struct peer *p, struct link_msg *m,
    struct link_msg *reply, struct err *err)
{
	(void)p;
	(void)m;
	reply->fd[0] = model_stream(b->model, err);
	if (reply->fd[0] < 0)
		return -1;
	reply->nfd = 1;
	return 0;
}
