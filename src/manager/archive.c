#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "manager/inner.h"

/*
 * The agent makes the tar and reads it back; here it is bytes that go to a
 * file of our own directory.  Never unpacked, never looked into.
 */

#define TRIES 3        /* then its workspace is given up */
#define PAUSE_MS 60000 /* between them */
#define PIECE (64 * 1024)

struct archive {
	struct sandbox *sb;
	struct guest_call *call;
	int fd;
	uint64_t bytes, most; /* written; bound of what may be, 0: none */
	bool ended;           /* all input is sent */
	struct err why;       /* first thing that went wrong */
	bool failed;
};

struct file_name {
	char text[40];
};

static struct file_name
file_of(const struct sandbox *sb, const char *ending)
{
	struct file_name f;

	snprintf(f.text, sizeof f.text, "%s.%s", sb->rec.session_id, ending);
	return f;
}

/* ---- how much there is ---- */

static uint64_t *
used_by(struct manager *m, int tenant)
{
	size_t n = m->config->ntenant;

	return &m->saved[tenant >= 0 && (size_t)tenant < n ? (size_t)tenant
							   : n];
}

static void
account(struct sandbox *sb, uint64_t bytes)
{
	uint64_t *used = used_by(sb->m, sb->rec.tenant);

	*used -= sb->saved < *used ? sb->saved : *used;
	*used += bytes;
	sb->saved = bytes;
}

/* What this one may take; 0: as much as it likes; -1: nothing. */
static int
allowance(struct sandbox *sb, uint64_t *most, struct err *err)
{
	uint64_t all = sb->m->config->saved_max;
	uint64_t used = *used_by(sb->m, sb->rec.tenant);

	if (sb->m->dir < 0)
		return err_set(err, ERR_SYS, "there is nowhere to save to");
	if (all > 0 && used >= all)
		return err_set(err, ERR_LIMIT,
		    "saved workspaces take %" PRIu64 " bytes already", used);
	*most = all > 0 ? all - used : 0;
	return 0;
}

/* ---- one on its way ---- */

void
archive_stop(struct sandbox *sb)
{
	struct archive *a = sb->archive;

	if (a == NULL)
		return;
	sb->archive = NULL;
	if (a->call != NULL) {
		guest_cancel(a->call);
		guest_detach(a->call);
	}
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

static void
fail(struct archive *a, const struct err *why)
{
	if (!a->failed)
		a->why = *why;
	a->failed = true;
}

static int
begin(struct sandbox *sb, const char *tool, const struct guest_sink *sink,
    int fd, uint64_t most, struct err *err)
{
	static const struct guest_arg arg[] = {
		{ .name = "path",
		    .type = ARG_TEXT,
		    .text = "/workspace",
		    .len = 10 },
		{ .name = NULL },
	};
	struct archive *a = xcalloc(1, sizeof *a);
	struct guest_request q = { .tool = tool,
		.arg = arg,
		.sink = sink,
		.sink_arg = a };

	a->sb = sb;
	a->fd = fd;
	a->most = most;
	a->call = guest_call(sb->guest, &q, err);
	if (a->call == NULL) {
		free(a);
		return -1;
	}
	sb->archive = a;
	return 0;
}

/* ---- out ---- */

static void
save_failed(struct sandbox *sb, const struct err *why)
{
	struct manager *m = sb->m;

	sb->why = *why;
	archive_stop(sb);
	unlinkat(m->dir, file_of(sb, "tmp").text, 0);
	log_err(LOG_WARN, why, "workspace not saved", "sandbox", sb->rec.id,
	    NULL);
	sandbox_event_soon(sb, LIFE_KEEP);
}

/* It can't be kept alive for ever: say what is lost, and go on. */
static void
give_up(struct sandbox *sb)
{
	snprintf(sb->rec.reason, sizeof sb->rec.reason,
	    "heartbeat_timeout, workspace lost");
	log_say(LOG_ERROR, "workspace lost", "sandbox", sb->rec.id, "reason",
	    "it could not be saved", NULL);
	sandbox_event_soon(sb, LIFE_SAVED);
}

void
archive_unsaved(struct sandbox *sb)
{
	struct err why = sb->why;

	if (sb->archive != NULL) { /* it was wanted, or took too long */
		archive_stop(sb);
		unlinkat(sb->m->dir, file_of(sb, "tmp").text, 0);
		err_set(&why, ERR_TIMEOUT,
		    "its workspace was not saved in time");
	}
	archive_remove(sb);
	sb->save_failures++; /* a touch takes it back */
	sb->save_again = clock_ms() + PAUSE_MS;
	sb->goal = GOAL_LIVE;
	sb->rec.reason[0] = '\0';
	waits_tell(sb, WAIT_STOPPED, &why);
	if (sb->m->draining && sb->rec.state == REC_RUNNING)
		recycle_unsaved(sb);
}

static void
save_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct archive *a = arg;
	struct err err;

	guest_took(a->call, n);
	if (stream != 3 || a->failed)
		return;
	if (a->most > 0 && a->bytes + n > a->most) {
		err_set(&err, ERR_LIMIT, "more than %" PRIu64 " bytes",
		    a->most);
		fail(a, &err);
		guest_cancel(a->call);
		return;
	}
	while (n > 0 && !a->failed) {
		ssize_t w = write(a->fd, bytes, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0) {
			err_sys(&err, "write");
			fail(a, &err);
			guest_cancel(a->call);
			return;
		}
		bytes += w;
		n -= (size_t)w;
		a->bytes += (uint64_t)w;
	}
}

static void
save_done(void *arg, const struct guest_done *done)
{
	struct archive *a = arg;
	struct sandbox *sb = a->sb;
	uint64_t bytes = a->bytes;
	struct err why;

	a->call = NULL;
	if (done->err != NULL)
		fail(a, done->err);
	if (!a->failed && bytes == 0) {
		err_set(&why, ERR_PROTO, "the agent sent nothing");
		fail(a, &why);
	}
	if (!a->failed &&
	    renameat(sb->m->dir, file_of(sb, "tmp").text, sb->m->dir,
		file_of(sb, "tar").text) < 0) {
		err_sys(&why, "rename");
		fail(a, &why);
	}
	if (a->failed) {
		why = a->why;
		save_failed(sb, &why);
		return;
	}
	archive_stop(sb);
	account(sb, bytes);
	sandbox_event_soon(sb, LIFE_SAVED);
}

static const struct guest_sink save_sink = { .output = save_output,
	.done = save_done };

void
archive_save(struct sandbox *sb)
{
	auto_fd int fd = -1;
	uint64_t most = 0;
	struct err why;

	sb->why = (struct err){ 0 };
	if (sb->goal == GOAL_RECYCLE && sb->save_failures >= TRIES) {
		give_up(sb);
		return;
	}
	if (sb->rec.mount_dir[0] != '\0') { /* it outlives us anyway */
		sandbox_event_soon(sb, LIFE_SAVED);
		return;
	}
	if (allowance(sb, &most, &why) < 0) {
		save_failed(sb, &why);
		return;
	}
	fd = openat(sb->m->dir, file_of(sb, "tmp").text,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		err_sys(&why, "create");
	if (fd < 0 || begin(sb, "fs_tar", &save_sink, fd, most, &why) < 0)
		save_failed(sb, &why);
	else
		fd = -1;
}

/* ---- in ---- */

static void
load_failed(struct sandbox *sb, const struct err *why)
{
	archive_stop(sb);
	sb->why = *why;
	err_wrap(&sb->why, "restore of its workspace");
	sandbox_event_soon(sb, LIFE_FAILED);
}

static void
load_room(void *arg)
{
	static uint8_t piece[PIECE];
	struct archive *a = arg;
	struct err err;
	size_t room;

	while (!a->ended && !a->failed && (room = guest_room(a->call)) > 0) {
		ssize_t n = read(a->fd, piece, room < PIECE ? room : PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(&err, "read");
			fail(a, &err);
			guest_cancel(a->call);
		} else if (n == 0) {
			a->ended = true;
			guest_input_end(a->call);
		} else {
			guest_input(a->call, piece, (size_t)n);
		}
	}
}

static void
load_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct archive *a = arg;

	(void)stream;
	(void)bytes;
	guest_took(a->call, n);
}

static void
load_done(void *arg, const struct guest_done *done)
{
	struct archive *a = arg;
	struct sandbox *sb = a->sb;
	struct err why;

	a->call = NULL;
	if (done->err != NULL)
		fail(a, done->err);
	if (a->failed) {
		why = a->why;
		load_failed(sb, &why);
		return;
	}
	archive_stop(sb);
	sandbox_event_soon(sb, LIFE_LOADED);
}

static const struct guest_sink load_sink = { .output = load_output,
	.room = load_room,
	.done = load_done };

void
archive_load(struct sandbox *sb)
{
	/* A replacement takes what its old one left, and that stays until then. */
	const struct sandbox *of = sb->replaces != NULL ? sb->replaces : sb;
	auto_fd int fd = openat(sb->m->dir, file_of(of, "tar").text,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct err why;

	if (fd < 0)
		err_sys(&why, "open");
	if (fd < 0 || begin(sb, "fs_untar", &load_sink, fd, 0, &why) < 0)
		load_failed(sb, &why);
	else
		fd = -1;
}

/* ---- what lies on disk ---- */

void
archive_found(struct sandbox *sb, uint64_t bytes)
{
	struct stat st;

	if (sb->m->dir >= 0 &&
	    fstatat(sb->m->dir, file_of(sb, "tar").text, &st,
		AT_SYMLINK_NOFOLLOW) == 0)
		account(sb, bytes);
}

void
archive_remove(struct sandbox *sb)
{
	if (sb->saved == 0)
		return;
	unlinkat(sb->m->dir, file_of(sb, "tar").text, 0);
	account(sb, 0);
}

static bool
is_named(struct manager *m, const char *file)
{
	struct sandbox *sb;
	struct file_name f;

	TAILQ_FOREACH(sb, &m->all, all) {
		f = file_of(sb, "tar");
		if (sb->saved > 0 && strcmp(f.text, file) == 0)
			return true;
	}
	return false;
}

void
archives_sweep(struct manager *m)
{
	int fd = m->dir < 0
	    ? -1
	    : openat(m->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && !is_named(m, e->d_name))
			unlinkat(m->dir, e->d_name, 0);
	if (d != NULL)
		closedir(d);
}
