#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "conf/conf.h"
#include "daemon/broker.h"
#include "daemon/serve.h"

static int
config_text(const struct config *c, struct err *err)
{
	auto_free char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (f == NULL)
		return err_sys(err, "configuration");
	conf_print(c, f);
	if (fclose(f) != 0)
		return err_sys(err, "configuration");
	return file_memfd("hutch.conf", text, n, err);
}

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

	(void)p;
	(void)m;
	if (tcp < 0 || (native = copy(b->native, err)) < 0 ||
	    (conf = config_text(b->config, err)) < 0 ||
	    (dir = b->does->window(b->state.front, false, err)) < 0)
		return -1;
	reply->fd[0] = take_fd(&tcp);
	reply->fd[1] = take_fd(&native);
	reply->fd[2] = take_fd(&conf);
	reply->fd[3] = take_fd(&dir);
	reply->nfd = 4;
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
