/*
 * fetchtry: the fetcher without a daemon, for tests.
 *
 *	fetchtry [-s STORE] FETCHER ARCHIVE REF [DEST]
 *
 * Plays the broker: imports ARCHIVE (a tar, or a layout's directory) into a
 * store; with DEST it mounts the image's layers as one overlay, has the fetcher
 * export that, and extracts the stream into DEST.  STORE is kept, and may be
 * in use by several; without one a temporary one is made.  The fetcher runs
 * unconfined, so this is run as root.  With FETCHTRY_WIDE in the environment
 * it has its own bounds, for images of a real size.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/export.h"
#include "rootfs/extract.h"
#include "wire/broker.h"
#include "wire/link.h"

#define WAIT_MS 120000

struct store {
	char root[256];
	bool keep;
	char work[64]; /* this import's staging, in root */
	int top, staging, layers;
	const char *fetcher, *name;
	struct broker_record record;
	struct err why;
};

static struct store store;
static pid_t self;

struct run {
	pid_t pid;
	int link, lines;
	struct str text;
};

static void __attribute__((noreturn))
fail(const struct err *why, const char *what)
{
	errx(1, "%s: %s: %s", what, err_name(why->code), why->text);
}

/* tar is the fetcher's descriptor 4; closed here. */
static void
start(struct store *s, struct run *r, int tar)
{
	int link[2], lines[2];

	*r = (struct run){ 0 };
	if (link_pair(link, &s->why) < 0 || pipe2(lines, O_CLOEXEC) < 0)
		err(1, "pipes");
	r->pid = fork();
	if (r->pid == 0) {
		/* Above their places first, so that none hides another. */
		int fd[3] = { fcntl(link[1], F_DUPFD, 10),
			fcntl(tar, F_DUPFD, 10), fcntl(lines[1], F_DUPFD, 10) };

		for (int i = 0; i < 3; i++)
			if (dup2(fd[i], 3 + i) < 0)
				_exit(126);
		closefrom(6);
		if (getenv("FETCHTRY_WIDE") != NULL)
			execl(s->fetcher, "hutch-fetch", (char *)NULL);
		/* Small bounds: the corpus has a bomb, and it shall stop. */
		execl(s->fetcher, "hutch-fetch", "--bytes", "268435456",
		    "--entries", "50000", (char *)NULL);
		_exit(127);
	}
	close(link[1]);
	close(lines[1]);
	close(tar);
	r->link = link[0];
	r->lines = lines[0];
}

static void
layer_name(char out[80], const uint8_t id[BROKER_DIGEST])
{
	strcpy(out, "layer-");
	hex_put(out + 6, id, BROKER_DIGEST);
}

static int
commit(struct store *s, const struct link_msg *m, struct err *why)
{
	const struct broker_layer *l = (const void *)m->body;
	char name[80];

	layer_name(name, l->digest);
	if (renameat(s->staging, name, s->layers, name + 6) < 0 &&
	    errno != EEXIST && errno != ENOTEMPTY)
		return err_sys(why, "%s", name);
	return 0;
}

/* What a broker's table does, for the three rows that a fetcher has. */
static int
serve(struct store *s, int link, struct link_msg *m, bool export, int tree)
{
	struct link_msg reply = { .type = BROKER_OK, .call = m->call };
	struct broker_job job = { .version = BROKER_VERSION, .export = export };
	struct err why = { 0 };
	int r = 0;

	switch (m->type) {
	case BROKER_STORE:
		strcpy(job.name, s->name);
		memcpy(reply.body, &job, sizeof job);
		reply.len = sizeof job;
		reply.nfd = 2;
		reply.fd[0] = export ? tree : s->staging;
		reply.fd[1] = s->layers;
		break;
	case BROKER_COMMIT:
		r = commit(s, m, &why);
		break;
	case BROKER_RECORD:
		memcpy(&s->record, m->body, sizeof s->record);
		if (renameat(s->staging, "record.json", s->top, "record.json") <
		    0)
			r = err_sys(&why, "record");
		break;
	default:
		errx(1, "the fetcher asked for %u", m->type);
	}
	if (r < 0) {
		reply.type = BROKER_ERR;
		reply.len = sizeof why;
		memcpy(reply.body, &why, sizeof why);
	}
	return link_send(link, &reply, &s->why);
}

static void
read_lines(struct run *r)
{
	char buf[4096];
	ssize_t n = read(r->lines, buf, sizeof buf);

	if (n > 0)
		str_add(&r->text, buf, (size_t)n);
	else {
		close(r->lines);
		r->lines = -1;
	}
}

static void
read_link(struct store *s, struct run *r, bool export, int tree)
{
	static struct link_msg m;

	if (link_recv(r->link, &m, &s->why) <= 0) {
		close(r->link);
		r->link = -1;
		return;
	}
	link_msg_drop(&m);
	if (serve(s, r->link, &m, export, tree) < 0)
		fail(&s->why, "answer");
}

/* Until the fetcher has ended; the last line is printed. */
static int
finish(struct store *s, struct run *r, bool export, int tree)
{
	const char *last;
	int status;

	while (r->link >= 0 || r->lines >= 0) {
		struct pollfd p[2] = { { r->link, POLLIN, 0 },
			{ r->lines, POLLIN, 0 } };

		if (poll(p, 2, WAIT_MS) <= 0)
			errx(1, "the fetcher is silent");
		if (p[0].revents != 0)
			read_link(s, r, export, tree);
		if (p[1].revents != 0)
			read_lines(r);
	}
	if (waitpid(r->pid, &status, 0) < 0 || !WIFEXITED(status))
		errx(1, "the fetcher died: %x", status);
	str_cut(&r->text, r->text.len > 0 ? r->text.len - 1 : 0);
	last = strrchr(str_text(&r->text), '\n');
	fprintf(stderr, "%s\n", last ? last + 1 : str_text(&r->text));
	str_free(&r->text);
	return WEXITSTATUS(status);
}

/* The archive as a stream: a directory is packed by a child. */
static int
open_archive(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), pipefd[2];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return fd;
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		err(1, "pipe");
	if (fork() == 0) {
		struct export_to to = { .fd = pipefd[1] };
		struct err why;

		_exit(export_tree(fd, &to, &why) < 0);
	}
	close(fd);
	close(pipefd[1]);
	return pipefd[0];
}

static void
set_text(int fs, const char *key, const char *value)
{
	if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0) < 0)
		err(1, "overlay: %s", key);
}

static int
open_layer(const struct store *s, uint32_t i)
{
	char name[80];
	int fd;

	layer_name(name, s->record.layer[i]);
	fd = openat(s->layers, name + 6, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(1, "layer %s", name + 6);
	return fd;
}

/* An overlay that is mounted nowhere; one layer needs none. */
static int
merged(const struct store *s)
{
	int fs, mnt;

	if (s->record.nlayer == 1)
		return open_layer(s, 0);
	fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	if (fs < 0)
		err(1, "overlay");
	set_text(fs, "source", "fetchtry");
	for (uint32_t i = s->record.nlayer; i-- > 0;) {
		auto_free char *path = NULL;
		auto_fd int fd = open_layer(s, i);
		char name[80];

		layer_name(name, s->record.layer[i]);
		path = xasprintf("%s/layers/%s", s->root, name + 6);
		/* By descriptor since Linux 6.13, by name before. */
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_FD, "lowerdir+",
			NULL, fd) < 0)
			set_text(fs, "lowerdir+", path);
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		err(1, "overlay");
	mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	if (mnt < 0)
		err(1, "overlay mount");
	close(fs);
	return openat(mnt, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* At every exit but a child's. */
static void
clean_up(void)
{
	struct err ignored;

	if (getpid() != self || store.top < 0)
		return;
	file_remove_tree(store.top, store.work, &ignored);
	if (!store.keep)
		file_remove_tree(AT_FDCWD, store.root, &ignored);
}

static void
make_store(struct store *s, const char *at)
{
	strcpy(s->root, "/tmp/fetchtry-XXXXXX");
	if (at != NULL &&
	    snprintf(s->root, sizeof s->root, "%s", at) >= (int)sizeof s->root)
		errx(2, "%s: too long", at);
	s->keep = at != NULL;
	if (s->keep ? mkdir(s->root, 0755) < 0 && errno != EEXIST
		    : mkdtemp(s->root) == NULL)
		err(1, "%s", s->root);
	s->top = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	atexit(clean_up);
	snprintf(s->work, sizeof s->work, "staging-%d", (int)getpid());
	s->staging = file_mkdir_at(s->top, s->work, 0700, &s->why);
	s->layers = file_mkdir_at(s->top, "layers", 0711, &s->why);
	if (s->staging < 0 || s->layers < 0)
		fail(&s->why, "store");
}

static int
run(struct store *s, const char *archive, const char *dest)
{
	struct run r;
	int out[2], tree;

	start(s, &r, open_archive(archive));
	if (finish(s, &r, false, -1) != 0)
		return 1;
	if (dest == NULL)
		return 0;
	tree = merged(s);
	if (pipe2(out, O_CLOEXEC) < 0)
		err(1, "pipe");
	if (fork() ==
	    0) { /* the one who extracts is the reader of the stream */
		int dir = file_mkdir_at(AT_FDCWD, dest, 0755, &s->why);

		close(out[1]);
		if (dir < 0 || extract_tar(out[0], dir, true, &s->why) < 0)
			fail(&s->why, "extract");
		_exit(0);
	}
	close(out[0]);
	start(s, &r, out[1]);
	return finish(s, &r, true, tree);
}

static int
reap(void)
{
	int status, bad = 0;

	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}

int
main(int argc, char **argv)
{
	const char *at = NULL;
	int r;

	if (argc > 2 && strcmp(argv[1], "-s") == 0) {
		at = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc != 4 && argc != 5)
		errx(2, "fetchtry [-s STORE] FETCHER ARCHIVE REF [DEST]");
	if (strlen(argv[3]) >= sizeof store.record.name)
		errx(1, "error invalid no image name");
	store.fetcher = argv[1];
	store.name = argv[3];
	self = getpid();
	make_store(&store, at);
	r = run(&store, argv[2], argv[4]);
	if (r == 0)
		r = reap();
	return r != 0;
}
