/*
 * boxtry: the isolator, driven by lines on standard input.
 *
 *	boxtry IMAGE NAME [key=value ...]
 *
 * IMAGE is what runs in the sandboxes (boxpay, or the agent).  One line, one
 * reply that begins with "ok" or "err"; see commands[] below.  For
 * tests/sys/boxes.py, and for measuring.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/backend.h"
#include "tests/sys/boxtry.h"

#define BOXES 2048

struct
try {
	char name[33];
	struct instance in;
	bool live;
};

struct host *try_host;
static struct try boxes[BOXES];

int
try_ok(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	return 0;
}

int
try_bad(const struct err *err)
{
	printf("err %s\n", err->text);
	return -1;
}

int
try_bad_text(const char *text)
{
	printf("err %s\n", text);
	return -1;
}

static struct try *
find(const char *name)
{
	for (int i = 0; i < BOXES; i++)
		if (boxes[i].live && strcmp(boxes[i].name, name) == 0)
			return &boxes[i];
	return NULL;
}

static struct try *
vacant(void)
{
	for (int i = 0; i < BOXES; i++)
		if (!boxes[i].live)
			return &boxes[i];
	return NULL;
}

/* ---- start ---- */

struct want {
	struct box box;
	int layer[BOX_LAYERS];
	int opened[BOX_LAYERS + BOX_MOUNTS + 1];
	int nopened;
	char at[BOX_MOUNTS][128];
};

static int
hold(struct want *w, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd >= 0)
		w->opened[w->nopened++] = fd;
	return fd;
}

static uint64_t *
number_of(struct want *w, const char *key)
{
	static uint64_t none;
	struct {
		const char *key;
		uint64_t *at;
	} rows[] = { { "memory", &w->box.limits.memory },
		{ "root", &w->box.root_bytes }, { "work", &w->box.work_bytes },
		{ "shm", &w->box.shm_bytes } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].at;
	return &none;
}

static uint32_t *
small_of(struct want *w, const char *key)
{
	struct {
		const char *key;
		uint32_t *at;
	} rows[] = { { "slot", &w->box.slot }, { "nofile", &w->box.nofile },
		{ "pids", &w->box.limits.pids },
		{ "cpu", &w->box.limits.cpu_milli } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].at;
	return NULL;
}

/* at:path, or at:path:ro */
static void
add_mount(struct want *w, char *value)
{
	char *path = strchr(value, ':'), *ro;
	struct box_mount *m = &w->box.mount[w->box.nmount];

	if (path == NULL || w->box.nmount == BOX_MOUNTS)
		return;
	*path++ = '\0';
	ro = strchr(path, ':');
	if (ro != NULL)
		*ro = '\0';
	snprintf(w->at[w->box.nmount], sizeof w->at[0], "%s", value);
	m->at = w->at[w->box.nmount];
	m->fd = hold(w, path, O_PATH);
	m->readonly = ro != NULL;
	w->box.nmount++;
}

static void
option(struct want *w, const char *key, char *value)
{
	struct box *b = &w->box;

	if (strcmp(key, "plain") == 0 || strcmp(key, "layer") == 0) {
		b->plain = key[0] == 'p';
		w->layer[b->nlayer++] = hold(w, value, O_PATH | O_DIRECTORY);
	} else if (strcmp(key, "hostname") == 0)
		b->hostname = value;
	else if (strcmp(key, "readonly") == 0)
		b->readonly = true;
	else if (strcmp(key, "hardened") == 0)
		b->profile = PROFILE_HARDENED;
	else if (strcmp(key, "net") == 0)
		b->net = hold(w, value, O_RDONLY);
	else if (strcmp(key, "mount") == 0)
		add_mount(w, value);
	else if (small_of(w, key) != NULL)
		*small_of(w, key) = (uint32_t)strtoul(value, NULL, 10);
	else
		*number_of(w, key) = strtoull(value, NULL, 10);
}

int
try_start(const char *name, char *options, struct instance *in, struct err *err)
{
	struct want w = { .box = { .hostname = "box",
			      .slot = 1,
			      .net = -1,
			      .root_bytes = 1 << 28,
			      .work_bytes = 1 << 28,
			      .shm_bytes = 1 << 26 } };
	char *save = NULL;
	int got;

	w.box.name = name;
	w.box.layer = w.layer;
	for (char *o = strtok_r(options, " ", &save); o != NULL;
	     o = strtok_r(NULL, " ", &save)) {
		char *value = strchr(o, '=');

		if (value != NULL)
			*value++ = '\0';
		option(&w, o, value ? value : o);
	}
	got = backend_ns.start(try_host, &w.box, in, err);
	for (int i = 0; i < w.nopened; i++)
		close(w.opened[i]);
	return got;
}

static int
do_start(const char *name, char *rest)
{
	struct try *t = vacant();
	struct err err;

	if (t == NULL || find(name) != NULL)
		return try_bad_text("no room, or there already");
	if (try_start(name, rest, &t->in, &err) < 0)
		return try_bad(&err);
	snprintf(t->name, sizeof t->name, "%s", name);
	t->live = true;
	return try_ok("%d", (int)t->in.pid);
}

/* ---- talking ---- */

static int
get(int fd, void *bytes, size_t n, int64_t end)
{
	char *at = bytes;

	while (n > 0) {
		struct pollfd p = { fd, POLLIN, 0 };
		ssize_t r;

		if (poll(&p, 1, (int)clock_left(end)) == 0)
			return -2;
		r = read(fd, at, n);
		if (r < 0 && errno == EAGAIN)
			continue;
		if (r <= 0)
			return -1;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

int
try_send_command(int fd, const char *line)
{
	uint32_t n = (uint32_t)strlen(line);
	char head[4];

	memcpy(head, &n, 4);
	if (write(fd, head, 4) != 4 || write(fd, line, n) != (ssize_t)n)
		return -1;
	return 0;
}

/* 0 with the status in *status; -1 the stream ended; -2 out of time */
int
try_collect(int fd, int64_t end, struct str *out, int *status)
{
	char head[5], buf[4097];
	uint32_t n;
	int got;

	for (;;) {
		if ((got = get(fd, head, sizeof head, end)) < 0)
			return got;
		memcpy(&n, head + 1, 4);
		if (n >= sizeof buf || (got = get(fd, buf, n, end)) < 0)
			return -1;
		buf[n] = '\0';
		if (head[0] == 'O') {
			str_add(out, buf, n);
			continue;
		}
		if (head[0] == 'E') {
			str_puts(out, buf);
			return -1;
		}
		*status = atoi(buf);
		return 0;
	}
}

/* run NAME MS COMMAND: "ok STATUS BYTES", then the bytes */
static int
do_run(const char *name, char *rest)
{
	struct try *t = find(name);
	auto_str struct str out = { 0 };
	char *line = strchr(rest, ' ');
	int status = -1, got;

	if (t == NULL || line == NULL)
		return try_bad_text("run NAME MS COMMAND");
	/* If that fails there is still its last word to be read. */
	try_send_command(t->in.stream, line + 1);
	got = try_collect(t->in.stream, clock_ms() + atoi(rest), &out, &status);
	if (got < 0) {
		printf("err %s %s\n", got == -2 ? "timeout" : "ended",
		    str_text(&out));
		return -1;
	}
	printf("ok %d %zu\n", status, out.len);
	fwrite(str_text(&out), 1, out.len, stdout);
	return 0;
}

/* wait NAME MS: its end; "ok CODE STATUS", as siginfo has them */
static int
do_wait(const char *name, char *rest)
{
	struct try *t = find(name);
	struct pollfd p = { t ? t->in.pidfd : -1, POLLIN, 0 };
	siginfo_t si = { .si_code = 0 };

	if (t == NULL)
		return try_bad_text("no such");
	if (poll(&p, 1, atoi(rest)) != 1)
		return try_bad_text("timeout");
	waitid(P_PIDFD, (id_t)t->in.pidfd, &si, WEXITED | WNOHANG);
	instance_drop(&t->in);
	t->live = false;
	return try_ok("%d %d", si.si_code, si.si_status);
}

static int
do_stop(const char *name, char *rest)
{
	struct try *t = find(name);
	struct err err;

	(void)rest;
	if (t == NULL)
		return try_bad_text("no such");
	return backend_ns.stop(&t->in, &err) < 0 ? try_bad(&err)
						 : try_ok("done");
}

static int
do_freeze(const char *name, char *rest)
{
	struct try *t = find(name);
	struct err err;

	if (t == NULL)
		return try_bad_text("no such");
	return backend_ns.freeze(&t->in, rest[0] == '1', &err) < 0
	    ? try_bad(&err)
	    : try_ok("done");
}

static int
do_attach(const char *name, char *rest)
{
	struct try *t = find(name);
	struct err err;
	int fd;

	(void)rest;
	if (t == NULL)
		return try_bad_text("no such");
	fd = backend_ns.attach(&t->in, &err);
	if (fd < 0)
		return try_bad(&err);
	close(t->in.stream);
	t->in.stream = fd;
	return try_ok("done");
}

static int
do_usage(const char *name, char *rest)
{
	struct try *t = find(name);
	struct usage u;
	struct err err;

	(void)rest;
	if (t == NULL)
		return try_bad_text("no such");
	if (backend_ns.usage(&t->in, &u, &err) < 0)
		return try_bad(&err);
	return try_ok("cpu=%" PRIu64 " memory=%" PRIu64 " peak=%" PRIu64
		      " limit=%" PRIu64 " pids=%" PRIu64 " pids_limit=%" PRIu64
		      " oom=%" PRIu64,
	    u.cpu_us, u.memory, u.memory_peak, u.memory_limit, u.pids,
	    u.pids_limit, u.oom_kills);
}

/* oom NAME MS: waits for the group's memory to end, then kills it */
static int
do_oom(const char *name, char *rest)
{
	struct try *t = find(name);
	struct pollfd p = { -1, POLLIN, 0 };
	struct err err;
	int got;

	if (t == NULL)
		return try_bad_text("no such");
	p.fd = cgroup_oom_fd(host_cgroups(try_host), &t->in.cgroup, &err);
	if (p.fd < 0)
		return try_bad(&err);
	got = poll(&p, 1, atoi(rest));
	close(p.fd);
	if (got != 1)
		return try_bad_text("timeout");
	return do_stop(name, rest);
}

/* What a test compares before and after. */
static int
do_fds(const char *name, char *rest)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	(void)name;
	(void)rest;
	while (d != NULL && readdir(d) != NULL)
		n++;
	closedir(d);
	return try_ok("%d", n - 3);
}

static int
do_probe(const char *name, char *rest)
{
	struct err err;

	(void)name;
	(void)rest;
	if (backend_ns.probe(try_host, &err) < 0)
		return try_bad(&err);
	return try_ok("%s %x", cgroups_kind(host_cgroups(try_host)),
	    cgroups_can(host_cgroups(try_host)));
}

/* ---- lines ---- */

static const struct {
	const char *word;
	int (*run)(const char *name, char *rest);
} commands[] = { { "start", do_start }, { "run", do_run }, { "wait", do_wait },
	{ "stop", do_stop }, { "freeze", do_freeze }, { "attach", do_attach },
	{ "usage", do_usage }, { "oom", do_oom }, { "fds", do_fds },
	{ "confined", try_confined }, { "probe", do_probe },
	{ "bench", try_bench }, { "peer", try_peer } };

static void
one_line(char *line)
{
	char *name, *rest;

	line[strcspn(line, "\n")] = '\0';
	name = strchr(line, ' ');
	if (name != NULL)
		*name++ = '\0';
	rest = name != NULL ? strchr(name, ' ') : NULL;
	if (rest != NULL)
		*rest++ = '\0';
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].word, line) == 0) {
			char none[1] = "";

			commands[i].run(name ? name : none, rest ? rest : none);
			fflush(stdout);
			return;
		}
	printf("err unknown command\n");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct host_conf conf = { .id_base = 1879048192, .slots = 256 };
	static char line[1 << 16];
	struct err err;

	if (argc < 3) {
		fprintf(stderr, "usage: boxtry IMAGE NAME [key=value ...]\n");
		return 2;
	}
	conf.agent = open(argv[1], O_RDONLY | O_CLOEXEC);
	conf.name = argv[2];
	for (int i = 3; i < argc; i++) {
		if (strncmp(argv[i], "avoid=", 6) == 0)
			conf.avoid = (unsigned)atoi(argv[i] + 6);
		if (strncmp(argv[i], "id_base=", 8) == 0)
			conf.id_base = (uint32_t)strtoul(argv[i] + 8, NULL, 10);
		if (strncmp(argv[i], "require=", 8) == 0)
			conf.require = (unsigned)strtoul(argv[i] + 8, NULL, 10);
	}
	signal(SIGPIPE, SIG_IGN);
	log_start("boxtry", LOG_INFO);
	try_host = host_new(&conf, &err);
	close(conf.agent);
	if (try_host == NULL) {
		log_err(LOG_ERROR, &err, "cannot start", NULL);
		return 1;
	}
	try_ok("%d", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL)
		one_line(line);
	host_free(try_host);
	return 0;
}
