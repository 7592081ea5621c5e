/* What the host's own set-up has to leave free or to offer. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/probe.h"
#include "conf/conf.h"
#include "conf/config.h"

#define SLOT 65536ull /* ids of one sandbox */

struct range {
	unsigned long long from, to; /* to: one past the last */
};

const char *probe_root;

/* What the daemon will be told, as far as we may read it. */
static struct config *
configuration(void)
{
	struct config *c = conf_new();
	struct err unused;

	if (access(SYSCONFDIR "/hutch/hutch.conf", R_OK) == 0)
		conf_read_file(c, SYSCONFDIR "/hutch/hutch.conf", &unused);
	return c;
}

static struct range
our_ids(void)
{
	struct config *c = configuration();
	struct range r = { c->id_base, c->id_base + c->slots * SLOT };

	conf_free(c);
	return r;
}

/* Field number `at` (and its length, if any) of each line is an id. */
static const char *
overlaps(const char *path, int at, bool length, const struct range *ours,
    struct str *detail)
{
	auto_free char *line = NULL;
	size_t room = 0;
	FILE *f = fopen(path, "re");
	const char *hit = NULL;

	while (f != NULL && hit == NULL && getline(&line, &room, f) > 0) {
		unsigned long long from, n = 1;
		char *s = line;

		for (int i = 0; i < at && s != NULL; i++)
			if ((s = strchr(s, ':')) != NULL)
				s++;
		if (s == NULL || sscanf(s, "%llu:%llu", &from, &n) < 1 + length)
			continue;
		n = length ? n : 1;
		if (from >= ours->to || from + n <= ours->from)
			continue;
		str_printf(detail, "%s: %.*s; ", path,
		    (int)strcspn(line, ":\n"), line);
		hit = path;
	}
	if (f != NULL)
		fclose(f);
	return hit;
}

static enum verdict
check_ids(struct str *detail)
{
	static const struct {
		const char *path;
		int at;
		bool length;
	} files[] = {
		{ "/etc/subuid", 1, true },
		{ "/etc/subgid", 1, true },
		{ "/etc/passwd", 2, false },
		{ "/etc/group", 2, false },
	};
	struct range ours = our_ids();
	bool hit = false;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		hit |= overlaps(files[i].path, files[i].at, files[i].length,
			   &ours, detail) != NULL;
	str_printf(detail, "%llu to %llu are ours%s", ours.from, ours.to - 1,
	    hit ? "" : " alone");
	return hit ? VERDICT_BAD : VERDICT_GOOD;
}

static enum verdict
check_memory(struct str *detail)
{
	struct sysinfo si;
	unsigned long long mib;

	if (sysinfo(&si) < 0)
		return VERDICT_UNKNOWN;
	mib = (unsigned long long)si.totalram * si.mem_unit >> 20;
	str_printf(detail, "%llu MiB; each sandbox may take 2048", mib);
	return mib >= 2048 ? VERDICT_GOOD : VERDICT_NOTE;
}

static enum verdict
check_files(struct str *detail)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return VERDICT_UNKNOWN;
	str_printf(detail, "%llu, enough for some %llu sandboxes",
	    (unsigned long long)rl.rlim_max,
	    (unsigned long long)(rl.rlim_max > 200 ? (rl.rlim_max - 200) / 15
						   : 0));
	return rl.rlim_max >= 4096 ? VERDICT_GOOD : VERDICT_NOTE;
}

/*
 * What the kernel counts for all sandboxes together, who have one owner: a
 * hostile one may take all of it, so the amount should be one that its memory
 * limit doesn't reach.
 */
static enum verdict
check_shared(struct str *detail)
{
	static const struct {
		const char *name;
		long long enough;
	} shared[] = {
		{ "fs/file-max", 16 << 20 },
		{ "fs/inotify/max_user_instances", 1 << 20 },
		{ "fs/inotify/max_user_watches", 1 << 20 },
	};
	enum verdict v = VERDICT_GOOD;

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
		auto_str struct str text = { 0 };
		char path[64];
		struct err unused;

		snprintf(path, sizeof path, "/proc/sys/%s", shared[i].name);
		if (file_read_at(AT_FDCWD, path, &text, 64, &unused) < 0)
			return VERDICT_UNKNOWN;
		if (strtoll(str_text(&text), NULL, 10) >= shared[i].enough)
			continue;
		str_printf(detail, "%s%s is %lld",
		    v == VERDICT_GOOD ? "" : ", ",
		    strrchr(shared[i].name, '/') + 1,
		    strtoll(str_text(&text), NULL, 10));
		v = VERDICT_NOTE;
	}
	str_puts(detail,
	    v == VERDICT_GOOD ? "more than one sandbox can take"
			      : ": one sandbox can take all of it");
	return v;
}

/* The nearest directory of path that exists. */
static char *
existing(const char *path)
{
	char *at = xstrdup(path), *slash;

	while (access(at, F_OK) < 0 && (slash = strrchr(at, '/')) != NULL &&
	    slash != at)
		*slash = '\0';
	return at;
}

static enum verdict
check_disk(struct str *detail)
{
	static const struct {
		unsigned long magic;
		const char *text;
	} known[] = {
		{ 0x01021994,
		    "on tmpfs: images and saved workspaces are gone after a "
		    "reboot" },
		{ 0x794c7630, "on overlay, where layers can't lie" },
	};
	struct config *c = configuration();
	auto_free char *at =
	    existing(probe_root != NULL ? probe_root : c->root);
	const char *text = "for images and saved workspaces";
	unsigned long long mib;
	struct statfs fs;

	conf_free(c);
	if (statfs(at, &fs) < 0)
		return VERDICT_UNKNOWN;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if ((unsigned long)fs.f_type == known[i].magic)
			text = known[i].text;
	mib =
	    (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize >>
	    20;
	str_printf(detail, "%llu MiB free at %s; %s", mib, at, text);
	if (fs.f_type == 0x794c7630)
		return VERDICT_BAD;
	return mib >= 2048 ? VERDICT_GOOD : VERDICT_NOTE;
}

static enum verdict
check_root(struct str *detail)
{
	if (geteuid() != 0) {
		str_puts(detail,
		    "this runs without root: some answers are "
		    "guesses");
		return VERDICT_NOTE;
	}
	str_puts(detail, "yes");
	return VERDICT_GOOD;
}

/* clang-format off */
const struct probe probes_host[] = {
	{ "root",	check_root,
	  "run hutch doctor as root for the rest" },
	{ "ids",	check_ids,
	  "set id_base in hutch.conf to a range that nobody has, a multiple of 65536" },
	{ "memory",	check_memory,
	  "lower memory in [type base] of hutch.conf" },
	{ "disk",	check_disk,
	  "give the daemon a root directory (root in hutch.conf) on ext4, xfs or btrfs with some GiB free" },
	{ "shared",	check_shared,
	  "sysctl -w fs.file-max=9223372036854775807 fs.inotify.max_user_instances=2147483647 fs.inotify.max_user_watches=2147483647: then memory limits bound them" },
	{ "open files",	check_files,
	  "raise LimitNOFILE of hutch.service" },
	{ .name = NULL },
};
/* clang-format on */
