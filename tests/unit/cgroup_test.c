#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/cgroup_tree.h"

/* Directories that look like a cgroup's, as far as we write and read. */
static char top[] = "/tmp/cgroup-test-XXXXXX";

static void
put(int dir, const char *file, const char *text)
{
	auto_fd int fd = openat(dir, file, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
expect(int dir, const char *file, const char *text)
{
	auto_str struct str s = { 0 };
	struct err err;

	assert_int_equal(file_read_at(dir, file, &s, 4096, &err), 0);
	assert_string_equal(str_text(&s), text);
}

static int
dir_at(const char *name, const char *const *files)
{
	auto_fd int up = open(top, O_DIRECTORY | O_RDONLY);
	struct err err;
	int dir = file_mkdir_at(up, name, 0755, &err);

	assert_true(dir >= 0);
	for (; *files != NULL; files++)
		put(dir, *files, "");
	return dir;
}

static const struct cgroup_limits limits = { .memory = 64 << 20,
	.pids = 20,
	.cpu_milli = 1500,
	.io_weight = 50 };

static void
v2_limits_are_these_files(void **unused)
{
	static const char *const files[] = { "memory.max", "memory.swap.max",
		"memory.oom.group", "pids.max", "cpu.max", "io.weight", NULL };
	struct cgroup cg;
	struct err err;

	(void)unused;
	cgroup_init(&cg);
	cg.v2 = dir_at("two", files);
	assert_int_equal(cgroup_v2.limit(&cg, &limits, &err), 0);
	expect(cg.v2, "memory.max", "67108864");
	expect(cg.v2, "memory.swap.max", "0");
	expect(cg.v2, "memory.oom.group", "1");
	expect(cg.v2, "pids.max", "20");
	expect(cg.v2, "cpu.max", "150000 100000");
	expect(cg.v2, "io.weight", "50");
	close(cg.v2);
}

static void
v2_without_a_controller_says_which_file(void **unused)
{
	static const char *const files[] = { "cpu.max", NULL };
	struct cgroup cg;
	struct err err;

	(void)unused;
	cgroup_init(&cg);
	cg.v2 = dir_at("bare", files);
	assert_int_equal(cgroup_v2.limit(&cg, &limits, &err), -1);
	assert_non_null(strstr(err.text, "memory.max"));
	close(cg.v2);
}

static void
v2_usage_is_read_from_these(void **unused)
{
	static const char *const none[] = { NULL };
	struct cgroup cg;
	struct usage u = { 0 };

	(void)unused;
	cgroup_init(&cg);
	cg.v2 = dir_at("use", none);
	put(cg.v2, "cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	put(cg.v2, "memory.current", "4096\n");
	put(cg.v2, "memory.peak", "8192\n");
	put(cg.v2, "memory.max", "max\n");
	put(cg.v2, "pids.current", "3\n");
	put(cg.v2, "memory.events",
	    "low 0\noom 5\noom_kill 2\noom_group_kill 1\n");
	cgroup_v2.usage(&cg, &u);
	assert_int_equal(u.cpu_us, 1234);
	assert_int_equal(u.memory, 4096);
	assert_int_equal(u.memory_peak, 8192);
	assert_int_equal(u.memory_limit, 0);
	assert_int_equal(u.pids, 3);
	assert_int_equal(u.oom_kills, 2);
	close(cg.v2);
}

static void
hybrid_limits_are_these_files(void **unused)
{
	static const char *const memory[] = { "memory.limit_in_bytes",
		"memory.memsw.limit_in_bytes", NULL };
	static const char *const pids[] = { "pids.max", NULL };
	static const char *const cpu[] = { "cpu.cfs_quota_us", NULL };
	struct cgroup cg;
	struct err err;

	(void)unused;
	cgroup_init(&cg);
	cg.v1[CG_MEMORY] = dir_at("m", memory);
	cg.v1[CG_PIDS] = dir_at("p", pids);
	cg.v1[CG_CPU] = dir_at("c", cpu);
	assert_int_equal(cgroup_hybrid.limit(&cg, &limits, &err), 0);
	expect(cg.v1[CG_MEMORY], "memory.limit_in_bytes", "67108864");
	expect(cg.v1[CG_MEMORY], "memory.memsw.limit_in_bytes", "67108864");
	expect(cg.v1[CG_PIDS], "pids.max", "20");
	expect(cg.v1[CG_CPU], "cpu.cfs_quota_us", "150000");
	for (int i = 0; i < CG_V1; i++)
		close(cg.v1[i]);
}

static const char hybrid_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "34 31 0:31 /docker/abc /sys/fs/cgroup/memory rw shared:9 - cgroup "
    "cgroup rw,memory\n"
    "35 31 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void
finds_its_place_in_each_hierarchy(void **unused)
{
	static struct cgroup_layout l;

	(void)unused;
	cgroup_layout(hybrid_mounts,
	    "8:pids:/user.slice/a\n4:memory:/docker/abc/x\n"
	    "3:cpuset:/\n1:cpu,cpuacct:/\n0::/user.slice\n",
	    &l);
	assert_string_equal(l.v2, "/sys/fs/cgroup/unified/user.slice");
	assert_string_equal(l.v2_root, "/sys/fs/cgroup/unified");
	assert_string_equal(l.v1[CG_MEMORY], "/sys/fs/cgroup/memory/x");
	assert_string_equal(l.v1[CG_PIDS], "/sys/fs/cgroup/pids/user.slice/a");
	assert_string_equal(l.v1[CG_CPU], "/sys/fs/cgroup/cpu,cpuacct");
}

static void
a_place_outside_of_the_mount_is_its_top(void **unused)
{
	static struct cgroup_layout l;

	(void)unused;
	cgroup_layout("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	    "0::/../other\n", &l);
	assert_string_equal(l.v2, "/sys/fs/cgroup");
	assert_string_equal(l.v1[CG_MEMORY], "");
	cgroup_layout("", "", &l);
	assert_string_equal(l.v2, "");
	cgroup_layout("nonsense\n- cgroup2\n", "nonsense", &l);
	assert_string_equal(l.v2, "");
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *w)
{
	(void)st;
	(void)flag;
	(void)w;
	return remove(path);
}

static int
make_top(void **unused)
{
	(void)unused;
	return mkdtemp(top) == NULL ? -1 : 0;
}

static int
remove_top(void **unused)
{
	(void)unused;
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v2_limits_are_these_files),
		cmocka_unit_test(v2_without_a_controller_says_which_file),
		cmocka_unit_test(v2_usage_is_read_from_these),
		cmocka_unit_test(hybrid_limits_are_these_files),
		cmocka_unit_test(finds_its_place_in_each_hierarchy),
		cmocka_unit_test(a_place_outside_of_the_mount_is_its_top),
	};

	return cmocka_run_group_tests_name("cgroup", tests, make_top,
	    remove_top);
}
