#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "isolator/plan.h"

static struct spec
box(void)
{
	struct spec s = { .magic = SPEC_MAGIC,
		.nmount = 2,
		.fds = 1u << SPEC_FD_ROOT | 1u << SPEC_FD_DEV |
		    1u << SPEC_FD_SYS | 1u << SPEC_FD_MOUNT };

	strcpy(s.mount[0].at, "/workspace");
	strcpy(s.mount[1].at, "/dev/shm");
	s.mount[1].kind = SPEC_MOUNT_TMPFS;
	s.mount[1].bytes = 4096;
	return s;
}

static void
a_sandbox_is_this_list(void **unused)
{
	auto_str struct str out = { 0 };
	struct spec s = box();
	struct plan p;
	struct err err;

	(void)unused;
	assert_int_equal(plan_make(&s, &p, &err), 0);
	plan_print(&p, &out);
	assert_string_equal(str_text(&out),
	    "root / fd=0\n"
	    "move /dev fd=1\n"
	    "pts /dev/pts\n"
	    "move /sys fd=2\n"
	    "proc /proc\n"
	    "mask /acpi dir\n"
	    "mask /asound dir\n"
	    "mask /scsi dir\n"
	    "mask /interrupts\n"
	    "mask /kallsyms\n"
	    "mask /kcore\n"
	    "mask /keys\n"
	    "mask /kmsg\n"
	    "mask /latency_stats\n"
	    "mask /pressure dir\n"
	    "mask /sched_debug\n"
	    "mask /timer_list\n"
	    "mask /timer_stats\n"
	    "seal /sys\n"
	    "move /workspace fd=5\n"
	    "tmpfs /dev/shm size=4096\n"
	    "pivot /\n");
}

static void
processes_only_leaves_nothing_to_mask(void **unused)
{
	auto_str struct str out = { 0 };
	struct spec s = box();
	struct plan p;
	struct err err;

	(void)unused;
	s.flags = SPEC_PROC_PIDS | SPEC_ROOT_READONLY;
	s.mount[0].flags = SPEC_READONLY | SPEC_NOEXEC;
	assert_int_equal(plan_make(&s, &p, &err), 0);
	plan_print(&p, &out);
	assert_string_equal(str_text(&out),
	    "root / fd=0\n"
	    "move /dev fd=1\n"
	    "pts /dev/pts\n"
	    "move /sys fd=2\n"
	    "proc /proc ro pids\n"
	    "move /workspace fd=5 ro noexec\n"
	    "tmpfs /dev/shm size=4096\n"
	    "pivot /\n"
	    "readonly /\n");
}

/* The root is made read-only last, and nothing is mounted after the pivot. */
static void
the_end_is_the_pivot(void **unused)
{
	struct spec s = box();
	struct plan p;
	struct err err;

	(void)unused;
	s.nmount = SPEC_MOUNTS;
	for (int i = 0; i < SPEC_MOUNTS; i++) {
		strcpy(s.mount[i].at, "/m");
		s.mount[i].kind = SPEC_MOUNT_TMPFS;
	}
	assert_int_equal(plan_make(&s, &p, &err), 0);
	assert_true(p.n <= PLAN_STEPS);
	assert_int_equal(p.step[p.n - 1].verb, PLAN_PIVOT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sandbox_is_this_list),
		cmocka_unit_test(processes_only_leaves_nothing_to_mask),
		cmocka_unit_test(the_end_is_the_pivot),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
