#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "isolator/spec.h"

static int
null_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The least that spec_check takes. */
static struct spec
least(int fd[SPEC_FDS])
{
	memset(fd, 0xff, SPEC_FDS * sizeof *fd);
	fd[SPEC_FD_ROOT] = null_fd();
	fd[SPEC_FD_DEV] = null_fd();
	return (struct spec){ .magic = SPEC_MAGIC,
		.fds = 1u << SPEC_FD_ROOT | 1u << SPEC_FD_DEV };
}

static void
drop(const int fd[SPEC_FDS])
{
	for (int i = 0; i < SPEC_FDS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

static void
travels_with_its_descriptors(void **unused)
{
	struct sock_filter filter[3] = { { .k = 7 }, { .k = 8 }, { .k = 9 } };
	static struct spec_in in;
	int fd[SPEC_FDS], pair[2], got[2];
	enum spec_word word;
	struct spec s = least(fd);
	struct err err;

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	s.nmount = 1;
	strcpy(s.mount[0].at, "/workspace");
	fd[SPEC_FD_MOUNT] = null_fd();
	s.nfilter = 3;
	strcpy(s.hostname, "box");
	assert_int_equal(spec_send(pair[0], &s, fd, filter, &err), 0);
	assert_int_equal(spec_recv(pair[1], &in, &err), 0);
	assert_string_equal(in.spec.hostname, "box");
	assert_int_equal(in.filter[2].k, 9);
	assert_true(in.fd[SPEC_FD_MOUNT] >= 0);
	assert_int_equal(in.fd[SPEC_FD_STREAM], -1);
	spec_drop(&in);

	assert_int_equal(spec_word_recv(pair[1], &word, got, &err), 0);
	assert_int_equal(spec_word_send(pair[0], SPEC_STREAM, fd, &err), 0);
	assert_int_equal(spec_word_recv(pair[1], &word, got, &err), 1);
	assert_int_equal(word, SPEC_STREAM);
	close(got[0]);
	assert_int_equal(spec_word_send(pair[0], SPEC_JOIN,
			     (int[]){ fd[0], fd[0] }, &err),
	    0);
	assert_int_equal(spec_word_recv(pair[1], &word, got, &err), 1);
	assert_int_equal(word, SPEC_JOIN);
	close(got[0]);
	close(got[1]);
	close(pair[0]);
	assert_int_equal(spec_word_recv(pair[1], &word, got, &err), -1);
	assert_int_equal(spec_recv(pair[1], &in, &err), -1);
	close(pair[1]);
	drop(fd);
}

static void
refuses_what_is_out_of_bounds(void **unused)
{
	int fd[SPEC_FDS];
	struct spec good = least(fd), s;
	struct err err;

	(void)unused;
	assert_int_equal(spec_check(&good, &err), 0);
#define BAD(change)                                                            \
	s = good;                                                              \
	change;                                                                \
	assert_int_equal(spec_check(&s, &err), -1)
	BAD(s.magic++);
	BAD(s.flags = SPEC_FLAGS + 1);
	BAD(s.fds = 1u << SPEC_FD_ROOT);
	BAD(s.fds |= 1u << SPEC_FD_EXEC);
	BAD(s.fds |= 1u << SPEC_FD_MOUNT);
	BAD(s.argc = 1);
	BAD(s.nmount = SPEC_MOUNTS + 1);
	BAD(s.nfilter = SPEC_FILTER + 1);
	BAD(memset(s.hostname, 'a', sizeof s.hostname));
	BAD(s.nmount = 1; s.mount[0].kind = SPEC_MOUNT_TMPFS);
	BAD(s.nmount = 1; s.mount[0].kind = SPEC_MOUNT_TMPFS;
	    strcpy(s.mount[0].at, "/proc/self"));
	BAD(s.argc = 2; s.fds |= 1u << SPEC_FD_EXEC;
	    memset(s.args, 'x', sizeof s.args));
#undef BAD
	drop(fd);
}

static void
takes_plain_mount_points_only(void **unused)
{
	static const char *const bad[] = { "", "a", "/", "//", "/a//b", "/a/",
		"/.", "/a/..", "/../etc", "/a/./b", "/proc", "/proc/sys",
		"/sys", "/dev/shm", "/dev" };
	static const char *const good[] = { "/a", "/workspace", "/processes",
		"/a/..b", "/system/x", "/device" };
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(spec_path_check(bad[i], &err), -1);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_int_equal(spec_path_check(good[i], &err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(travels_with_its_descriptors),
		cmocka_unit_test(refuses_what_is_out_of_bounds),
		cmocka_unit_test(takes_plain_mount_points_only),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
