#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/lend.h"
#include "wire/broker.h"
#include "wire/link.h"

_Static_assert(LEND_HANDLE > 2 * BROKER_ID + 1, "a handle must fit");

enum { ANSWER_S = 10 };

/* Beside the native socket. */
static char *
admin_path(const struct cli *cli)
{
	auto_free char *native = cli_socket(cli);
	const char *slash = strrchr(native, '/');

	return xasprintf("%.*s%s",
	    slash != NULL ? (int)(slash + 1 - native) : 0, native,
	    BROKER_ADMIN_SOCKET);
}

static int
reach(const char *path, struct err *err)
{
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval patience = { .tv_sec = ANSWER_S };
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (fd < 0)
		return err_sys(err, "socket");
	if (strlen(path) >= sizeof at.sun_path)
		return err_set(err, ERR_INVALID, "%s: too long", path);
	memcpy(at.sun_path, path, strlen(path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		return take_fd(&fd);
	if (errno == EACCES || errno == EPERM)
		return err_set(err, ERR_DENIED,
		    "only root may lend a folder; run an image instead, or "
		    "become root");
	return err_sys(err, "no daemon answers at %s", path);
}

static int
ask(int fd, int dir, char handle[LEND_HANDLE], struct err *err)
{
	struct link_msg m = { .type = BROKER_LEND, .nfd = 1, .call = 1 };
	struct broker_lent lent;
	struct err why;
	int r;

	m.fd[0] = dir;
	if (link_send(fd, &m, err) < 0)
		return -1;
	r = link_recv(fd, &m, err);
	if (r == 0)
		return err_set(err, ERR_PROTO, "the daemon hung up");
	if (r < 0)
		return -1;
	if (m.type == BROKER_ERR && m.len == sizeof why) {
		memcpy(&why, m.body, sizeof why);
		why.text[sizeof why.text - 1] = '\0';
		r = err_set(err, why.code, "%s", why.text);
	} else if (m.type == BROKER_OK && m.len == sizeof lent) {
		memcpy(&lent, m.body, sizeof lent);
		handle[0] = '#';
		hex_put(handle + 1, lent.handle, sizeof lent.handle);
		r = 0;
	} else
		r = err_set(err, ERR_PROTO, "the daemon is of another version");
	link_msg_drop(&m);
	return r;
}

int
lend(struct cli *cli, const char *dir, char handle[LEND_HANDLE],
    struct err *err)
{
	auto_fd int at = -1, fd = -1;
	auto_free char *path = NULL;

	if (cli->url != NULL)
		return err_set(err, ERR_INVALID,
		    "a folder can be lent over the socket of a daemon of this "
		    "host only; run an image instead");
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return err_sys(err, "%s", dir);
	path = admin_path(cli);
	fd = reach(path, err);
	return fd < 0 ? -1 : ask(fd, at, handle, err);
}
