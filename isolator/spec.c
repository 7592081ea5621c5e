#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/err.h"
#include "isolator/spec.h"

union fd_space {
	char buf[CMSG_SPACE(SPEC_FDS * sizeof(int))];
	struct cmsghdr align;
};

static const struct {
	char text[8];
	size_t nfd;
} words[SPEC_WORDS] = {
	[SPEC_STREAM] = { "stream", 1 },
	[SPEC_JOIN] = { "join", 2 },
};

/* ---- what may be in it ---- */

static int
part_check(const char *part, size_t n)
{
	if (n == 0 || (n == 1 && part[0] == '.') ||
	    (n == 2 && part[0] == '.' && part[1] == '.'))
		return -1;
	return 0;
}

int
spec_path_check(const char *path, struct err *err)
{
	static const char *const ours[] = { "/proc", "/sys", "/dev" };

	if (path[0] != '/' || strlen(path) >= SPEC_PATH)
		return err_set(err, ERR_INVALID, "mount point %.40s", path);
	for (const char *at = path; *at != '\0';) {
		size_t n = strcspn(++at, "/");

		if (part_check(at, n) < 0)
			return err_set(err, ERR_INVALID,
			    "mount point %s: not a plain path", path);
		at += n;
	}
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		size_t n = strlen(ours[i]);

		if (strncmp(path, ours[i], n) == 0 &&
		    (path[n] == '\0' || path[n] == '/'))
			return err_set(err, ERR_DENIED,
			    "mount point %s: not below %s", path, ours[i]);
	}
	return 0;
}

static int
mount_check(const struct spec *s, size_t i, struct err *err)
{
	const struct spec_mount *m = &s->mount[i];
	int given = s->fds >> (SPEC_FD_MOUNT + i) & 1;

	if (memchr(m->at, '\0', sizeof m->at) == NULL)
		return err_set(err, ERR_PROTO, "spec: mount point without end");
	if (m->kind >= SPEC_MOUNT_KINDS ||
	    m->flags & ~(uint32_t)(SPEC_READONLY | SPEC_NOEXEC | SPEC_PRIVATE))
		return err_set(err, ERR_PROTO, "spec: mount %zu", i);
	if (given != (m->kind == SPEC_MOUNT_GIVEN))
		return err_set(err, ERR_PROTO,
		    "spec: mount %zu and its descriptor", i);
	if (strcmp(m->at, "/dev/shm") == 0 && m->kind == SPEC_MOUNT_TMPFS)
		return 0;
	return spec_path_check(m->at, err);
}

/* argc + envc strings fill args from its start. */
static int
args_check(const struct spec *s, struct err *err)
{
	size_t at = 0;

	for (int i = 0; i < s->argc + s->envc; i++) {
		const char *end =
		    memchr(s->args + at, '\0', sizeof s->args - at);

		if (end == NULL)
			return err_set(err, ERR_PROTO, "spec: arguments");
		at = (size_t)(end - s->args) + 1;
	}
	return 0;
}

static uint32_t
bits(unsigned from, unsigned n)
{
	return ((1u << n) - 1) << from;
}

static int
enter_check(const struct spec *s, struct err *err)
{
	if (s->flags != SPEC_ENTER || s->nmount > 0 || s->nkeep > 0 ||
	    s->nfilter > 0 || s->fds & ~bits(SPEC_FD_GROUP, SPEC_GROUPS))
		return err_set(err, ERR_PROTO, "spec: more than doors");
	return 0;
}

int
spec_check(const struct spec *s, struct err *err)
{
	uint32_t may;

	if (s->magic != SPEC_MAGIC)
		return err_set(err, ERR_PROTO, "spec: of another version");
	if (s->flags & ~(uint32_t)SPEC_FLAGS || s->nmount > SPEC_MOUNTS ||
	    s->nkeep > SPEC_KEEP || s->nfilter > SPEC_FILTER)
		return err_set(err, ERR_PROTO, "spec: out of bounds");
	if (s->flags & SPEC_ENTER)
		return enter_check(s, err);
	may = bits(0, SPEC_FD_MOUNT) | bits(SPEC_FD_MOUNT, s->nmount);
	may |= bits(SPEC_FD_KEEP, s->nkeep);
	if (s->fds & ~may || !(s->fds & 1u << SPEC_FD_ROOT) ||
	    !(s->fds & 1u << SPEC_FD_DEV) ||
	    (s->fds & bits(SPEC_FD_KEEP, SPEC_KEEP)) !=
		bits(SPEC_FD_KEEP, s->nkeep))
		return err_set(err, ERR_PROTO, "spec: descriptors");
	if (!(s->fds & 1u << SPEC_FD_EXEC) != (s->argc == 0))
		return err_set(err, ERR_PROTO, "spec: program");
	if (memchr(s->hostname, '\0', sizeof s->hostname) == NULL)
		return err_set(err, ERR_PROTO, "spec: host name");
	for (size_t i = 0; i < s->nmount; i++)
		if (mount_check(s, i, err) < 0)
			return -1;
	return args_check(s, err);
}

/* ---- on the wire ---- */

static int
send_fds(int sock, struct iovec *iov, size_t niov, const int *fd, size_t nfd,
    struct err *err)
{
	union fd_space space = { .buf = { 0 } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = niov };

	if (nfd > 0) {
		struct cmsghdr *c = &space.align;

		mh.msg_control = space.buf;
		mh.msg_controllen = CMSG_SPACE(nfd * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfd * sizeof(int));
		memcpy(CMSG_DATA(c), fd, nfd * sizeof(int));
	}
	/* A queue that is full is a peer that doesn't read: no reason to wait. */
	if (sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(err, "control");
	return 0;
}

/* Bytes received, 0 at the end; *nfd descriptors are the caller's. */
static ssize_t
recv_fds(int sock, struct iovec *iov, size_t niov, int *fd, size_t *nfd,
    int flags, struct err *err)
{
	union fd_space space;
	struct msghdr mh = { .msg_iov = iov,
		.msg_iovlen = niov,
		.msg_control = space.buf,
		.msg_controllen = sizeof space.buf };
	ssize_t n;

	*nfd = 0;
	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, "control");
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c != NULL;
	     c = CMSG_NXTHDR(&mh, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			*nfd = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fd, CMSG_DATA(c), *nfd * sizeof(int));
		}
	if (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return err_set(err, ERR_PROTO, "control: cut message");
	return n;
}

static void
close_all(const int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

int
spec_send(int control, const struct spec *spec, const int fd[SPEC_FDS],
    const struct sock_filter *filter, struct err *err)
{
	struct spec s = *spec;
	struct iovec iov[2] = { { &s, sizeof s },
		{ (void *)(uintptr_t)filter, s.nfilter * sizeof *filter } };
	int sent[SPEC_FDS];
	size_t n = 0;

	s.magic = SPEC_MAGIC;
	s.fds = 0;
	for (int i = 0; i < SPEC_FDS; i++)
		if (fd[i] >= 0) {
			s.fds |= 1u << i;
			sent[n++] = fd[i];
		}
	if (spec_check(&s, err) < 0)
		return -1;
	return send_fds(control, iov, 2, sent, n, err);
}

static int
place(struct spec_in *in, const int *got, size_t ngot, struct err *err)
{
	size_t used = 0;

	for (int i = 0; i < SPEC_FDS; i++)
		if (in->spec.fds >> i & 1 && used < ngot)
			in->fd[i] = got[used++];
	if (used != ngot || __builtin_popcount(in->spec.fds) != (int)ngot) {
		close_all(got + used, ngot - used);
		return err_set(err, ERR_PROTO, "spec: descriptors missing");
	}
	return 0;
}

int
spec_recv(int control, struct spec_in *in, struct err *err)
{
	struct iovec iov[2] = { { &in->spec, sizeof in->spec },
		{ in->filter, sizeof in->filter } };
	int got[SPEC_FDS];
	size_t ngot;
	ssize_t n;

	memset(&in->spec, 0, sizeof in->spec);
	memset(in->fd, 0xff, sizeof in->fd);
	n = recv_fds(control, iov, 2, got, &ngot, 0, err);
	if (n < 0)
		goto bad;
	if (n == 0) {
		err_set(err, ERR_BUSY, "control: closed before the spec");
		goto bad;
	}
	if ((size_t)n < sizeof in->spec) {
		err_set(err, ERR_PROTO, "spec: %zd bytes", n);
		goto bad;
	}
	if (place(in, got, ngot, err) < 0 || spec_check(&in->spec, err) < 0)
		return -1;
	if ((size_t)n !=
	    sizeof in->spec + in->spec.nfilter * sizeof in->filter[0])
		return err_set(err, ERR_PROTO, "spec: filter cut");
	return 0;
bad:
	close_all(got, ngot);
	return -1;
}

void
spec_drop(struct spec_in *in)
{
	close_all(in->fd, SPEC_FDS);
	memset(in->fd, 0xff, sizeof in->fd);
}

int
spec_word_send(int control, enum spec_word w, const int *fd, struct err *err)
{
	struct iovec iov = { (void *)(uintptr_t)words[w].text,
		sizeof words[w].text };

	return send_fds(control, &iov, 1, fd, words[w].nfd, err);
}

static int
word_of(const char *text, size_t n, size_t nfd)
{
	for (int w = 0; w < SPEC_WORDS; w++)
		if (n == sizeof words[w].text && nfd == words[w].nfd &&
		    memcmp(text, words[w].text, n) == 0)
			return w;
	return -1;
}

static int
receive_word(int control, int flags, enum spec_word *word, int fd[2],
    struct err *err)
{
	char text[sizeof words[0].text];
	struct iovec iov = { text, sizeof text };
	int got[SPEC_FDS];
	size_t ngot;
	ssize_t n = recv_fds(control, &iov, 1, got, &ngot, flags, err);
	int w = n > 0 ? word_of(text, (size_t)n, ngot) : -1;

	if (n < 0 && ngot == 0 && err->code == ERR_SYS &&
	    (err->sys == EAGAIN || err->sys == EWOULDBLOCK))
		return 0;
	if (w >= 0) {
		*word = (enum spec_word)w;
		memcpy(fd, got, ngot * sizeof *fd);
		return 1;
	}
	if (n == 0)
		err_set(err, ERR_BUSY, "control: closed");
	else if (n > 0)
		err_set(err, ERR_PROTO, "control: not a word of ours");
	close_all(got, ngot);
	return -1;
}

int
spec_word_recv(int control, enum spec_word *word, int fd[2], struct err *err)
{
	return receive_word(control, MSG_DONTWAIT, word, fd, err);
}
