#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/err.h"
#include "wire/link.h"

struct wire_head {
	uint16_t type, nfd;
	uint32_t call;
};

union fd_space {
	char buf[CMSG_SPACE(LINK_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int
link_pair(int fd[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, fd) < 0)
		return err_sys(err, "socketpair");
	return 0;
}

int
link_send(int fd, const struct link_msg *m, struct err *err)
{
	struct wire_head head = { m->type, m->nfd, m->call };
	struct iovec iov[2] = { { &head, sizeof head },
		{ (void *)(uintptr_t)m->body, m->len } };
	union fd_space space = { .buf = { 0 } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };

	if (m->nfd > 0) {
		struct cmsghdr *c = &space.align;

		mh.msg_control = space.buf;
		mh.msg_controllen = CMSG_SPACE(m->nfd * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(m->nfd * sizeof(int));
		memcpy(CMSG_DATA(c), m->fd, m->nfd * sizeof(int));
	}
	if (sendmsg(fd, &mh, MSG_NOSIGNAL) < 0)
		return err_sys(err, "send message %u", m->type);
	return 0;
}

static void
take_fds(struct msghdr *mh, struct link_msg *m)
{
	m->nfd = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c != NULL;
	     c = CMSG_NXTHDR(mh, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			m->nfd = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(m->fd, CMSG_DATA(c), m->nfd * sizeof(int));
		}
}

int
link_recv(int fd, struct link_msg *m, struct err *err)
{
	struct wire_head head;
	struct iovec iov[2] = { { &head, sizeof head },
		{ m->body, sizeof m->body } };
	union fd_space space;
	struct msghdr mh = { .msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = space.buf,
		.msg_controllen = sizeof space.buf };
	ssize_t n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC);

	if (n <= 0) /* 0: end of file; an empty datagram is never sent */
		return n < 0 ? err_sys(err, "receive") : 0;
	take_fds(&mh, m);
	if ((size_t)n < sizeof head || m->nfd != head.nfd ||
	    mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		link_msg_drop(m);
		return err_set(err, ERR_PROTO, "malformed message");
	}
	m->type = head.type;
	m->call = head.call;
	m->len = (size_t)n - sizeof head;
	return 1;
}

void
link_msg_drop(struct link_msg *m)
{
	for (int i = 0; i < m->nfd; i++)
		if (m->fd[i] >= 0)
			close(m->fd[i]);
	m->nfd = 0;
}
