/* What the kernel itself has to bring. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/probe.h"

static int
read_file(const char *path, struct str *out)
{
	struct err unused;

	return file_read_at(AT_FDCWD, path, out, 1 << 20, &unused);
}

static enum verdict
check_version(struct str *detail)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	str_printf(detail, "Linux %s, 6.6 is needed", u.release);
	return major > 6 || (major == 6 && minor >= 6) ? VERDICT_GOOD
						       : VERDICT_BAD;
}

static enum verdict
check_namespaces(struct str *detail)
{
	static const char *const names[] = { "cgroup", "ipc", "mnt", "net",
		"pid", "user", "uts" };
	enum verdict v = VERDICT_GOOD;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		auto_free char *at = xasprintf("/proc/self/ns/%s", names[i]);
		auto_free char *max =
		    xasprintf("/proc/sys/user/max_%s_namespaces", names[i]);
		auto_str struct str s = { 0 };

		if (access(at, F_OK) < 0) {
			str_printf(detail, "no %s namespaces; ", names[i]);
			v = VERDICT_BAD;
		} else if (read_file(max, &s) == 0 &&
		    strtoul(str_text(&s), NULL, 10) < 16) {
			str_printf(detail, "%s is %.*s; ", max,
			    (int)strcspn(str_text(&s), "\n"), str_text(&s));
			v = VERDICT_BAD;
		}
	}
	if (v == VERDICT_GOOD)
		str_puts(detail, "all seven kinds");
	return v;
}

static enum verdict
check_seccomp(struct str *detail)
{
	auto_str struct str s = { 0 };

	if (read_file("/proc/sys/kernel/seccomp/actions_avail", &s) < 0) {
		str_puts(detail, "not in this kernel");
		return VERDICT_BAD;
	}
	str_puts(detail, "filters");
	if (strstr(str_text(&s), "kill_process") != NULL)
		return VERDICT_GOOD;
	str_puts(detail, ", without kill_process");
	return VERDICT_BAD;
}

static enum verdict
check_landlock(struct str *detail)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0) {
		str_printf(detail, "version %ld", abi);
		return VERDICT_GOOD;
	}
	str_puts(detail,
	    errno == EOPNOTSUPP ? "switched off at boot"
				: "not in this kernel");
	return VERDICT_NOTE;
}

/* Does /proc/filesystems name it?  A module may still be loaded later. */
static bool
has_filesystem(const char *name)
{
	auto_str struct str s = { 0 };
	auto_free char *line = xasprintf("\t%s\n", name);

	return read_file("/proc/filesystems", &s) == 0 &&
	    strstr(str_text(&s), line) != NULL;
}

static enum verdict
check_overlay(struct str *detail)
{
	if (has_filesystem("overlay")) {
		str_puts(detail, "overlay");
		return VERDICT_GOOD;
	}
	str_puts(detail, "overlay is not loaded");
	return VERDICT_BAD;
}

/* ---- cgroups ---- */

static const char *const controllers[] = { "memory", "pids", "cpu" };
enum { CONTROLLERS = sizeof controllers / sizeof *controllers };

/* Is word one of those that text holds, separated by any of `by`? */
static bool
has_word(const char *text, const char *by, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += n)
		if ((at == text || strchr(by, at[-1]) != NULL) &&
		    strchr(by, at[n]) != NULL)
			return true;
	return false;
}

/* The mount point of the first cgroup2, and what v1 hierarchies hold. */
static void
read_mounts(struct str *v2, struct str *v1)
{
	char type[32], at[256], opts[512];
	auto_free char *line = NULL;
	size_t room = 0;
	FILE *f = fopen("/proc/self/mounts", "re");

	while (f != NULL && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*s %255s %31s %511s", at, type, opts) != 3)
			continue;
		if (strcmp(type, "cgroup2") == 0 && v2->len == 0)
			str_puts(v2, at);
		if (strcmp(type, "cgroup") == 0)
			str_printf(v1, "%s,", opts);
	}
	if (f != NULL)
		fclose(f);
}

static enum verdict
check_cgroups(struct str *detail)
{
	auto_str struct str v2 = { 0 }, v1 = { 0 }, have = { 0 };
	auto_free char *list = NULL;
	bool hybrid = false, lacking = false;

	read_mounts(&v2, &v1);
	if (v2.len == 0) {
		str_puts(detail, "cgroup2 is mounted nowhere");
		return VERDICT_BAD;
	}
	list = xasprintf("%s/cgroup.controllers", v2.at);
	read_file(list, &have);
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (has_word(str_text(&have), " \n", controllers[i]))
			continue;
		hybrid = true;
		if (has_word(str_text(&v1), ",", controllers[i]))
			continue;
		str_printf(detail, "no %s controller; ", controllers[i]);
		lacking = true;
	}
	str_printf(detail, "%s layout, cgroup2 at %s", hybrid ? "hybrid" : "v2",
	    v2.at);
	return lacking ? VERDICT_BAD : VERDICT_GOOD;
}

static enum verdict
check_kvm(struct str *detail)
{
	str_printf(detail, "/dev/kvm is %s; hutch needs none",
	    access("/dev/kvm", F_OK) == 0 ? "there" : "not there");
	return VERDICT_GOOD;
}

/* clang-format off */
const struct probe probes_kernel[] = {
	{ "kernel",	check_version,
	  "boot a kernel of 6.6 or newer (Debian 12: linux-image-amd64 from backports)" },
	{ "namespaces",	check_namespaces,
	  "raise the user.max_*_namespaces sysctls; a kernel built without them can't help" },
	{ "overlay",	check_overlay,
	  "modprobe overlay, and put it into /etc/modules" },
	{ "cgroups",	check_cgroups,
	  "mount cgroup2 at /sys/fs/cgroup (boot with systemd.unified_cgroup_hierarchy=1, and cgroup_enable=memory where that is off)" },
	{ "seccomp",	check_seccomp,
	  "a kernel with CONFIG_SECCOMP_FILTER is needed" },
	{ "landlock",	check_landlock,
	  "a second fence inside sandboxes is missing: add landlock to the lsm= boot parameter" },
	{ "kvm",	check_kvm, NULL },
	{ .name = NULL },
};
/* clang-format on */
