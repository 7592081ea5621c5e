#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "daemon/listen.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t
address(const char *host, uint16_t port, union address *a)
{
	memset(a, 0, sizeof *a);
	if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		return sizeof a->v4;
	}
	if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(port);
		return sizeof a->v6;
	}
	return 0;
}

int
listen_tcp(const char *host, uint16_t *port, const char *option,
    struct err *err)
{
	union address a;
	socklen_t n = address(host, *port, &a);
	auto_fd int fd = -1;
	int on = 1;

	if (n == 0)
		return err_set(err, ERR_INVALID, "%s: not an address", host);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(fd, &a.any, n) < 0 || listen(fd, BACKLOG) < 0)
		return errno == EADDRINUSE
		    ? err_set(err, ERR_BUSY,
			  "listen on %s port %u: somebody else does; name "
			  "another %s in hutch.conf, or in HUTCH_ and its "
			  "name in capitals",
			  host, *port, option)
		    : err_sys(err, "listen on %s port %u", host, *port);
	n = sizeof a;
	if (getsockname(fd, &a.any, &n) < 0)
		return err_sys(err, "listen on %s", host);
	*port =
	    ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return take_fd(&fd);
}

/* Who may exchange names there could have us chmod something else. */
static int
check_folder(const char *dir, struct err *err)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_sys(err, "%s", dir);
	if (st.st_uid != geteuid() ||
	    (st.st_mode & 022 && !(st.st_mode & S_ISVTX)))
		return err_set(err, ERR_DENIED,
		    "%s: others may write there: not a place for a socket",
		    dir);
	return 0;
}

static int
make_folder(const char *path, struct err *err)
{
	char dir[sizeof((struct sockaddr_un *)0)->sun_path];
	char *slash;

	snprintf(dir, sizeof dir, "%s", path);
	slash = strrchr(dir, '/');
	if (slash == NULL || slash == dir)
		return 0;
	*slash = '\0';
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make directory %s", dir);
	return check_folder(dir, err);
}

int
listen_unix(const char *path, int type, mode_t mode, gid_t group,
    struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int fd =
	    socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old;
	int r;

	if (fd < 0)
		return err_sys(err, "socket");
	if (strlen(path) >= sizeof a.sun_path)
		return err_set(err, ERR_LIMIT, "%s: path is too long", path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (make_folder(path, err) < 0)
		return -1;
	unlink(path);
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof a);
	umask(old);
	if (r < 0 || (group != (gid_t)-1 && chown(path, 0, group) < 0) ||
	    chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, "listen on %s", path);
	return take_fd(&fd);
}

gid_t
listen_group(const char *name)
{
	FILE *f = fopen("/etc/group", "re");
	gid_t gid = (gid_t)-1;
	struct group *g;

	while (f != NULL && (g = fgetgrent(f)) != NULL)
		if (strcmp(g->gr_name, name) == 0) {
			gid = g->gr_gid;
			break;
		}
	if (f != NULL)
		fclose(f);
	return gid;
}
