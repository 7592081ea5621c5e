/*
 * hutch-fetch: one import, or one export, and then it ends.
 *
 * Started by the broker, confined: root of a user namespace over one range of
 * ids, without a network.  Everything in the archive is a stranger's; what it
 * can do at worst is what this process can do, in its staging directory.
 *
 *	3  link to the broker
 *	4  the tar: read when importing, written when exporting
 *	5  lines for whoever asked: "progress TEXT", "error CODE TEXT",
 *	   "done TEXT"; the last line is one of the latter two
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/export.h"
#include "rootfs/image.h"
#include "rootfs/ref.h"
#include "wire/broker.h"
#include "wire/link.h"

enum { FD_LINK = 3, FD_TAR, FD_LINES };

#define BROKER_WAIT_MS 60000
#define STORE_WAIT_MS 3600000 /* another import of the name may go first */
#define LINE_WAIT_MS 10000    /* for the last line; progress never waits */
#define LINE_MAX_BYTES 512
#define BYTES_DEFAULT (32ull << 30)
#define ENTRIES_DEFAULT (4ull << 20)

_Static_assert(BROKER_DIGEST == IMAGE_DIGEST, "a layer's name");

struct fetch {
	uint32_t call;
	char name[256];
	int dir[2];
	bool export;
	struct budget most;
	int64_t said; /* when progress was told last */
};

/* ---- lines ---- */

static void
line(const char *text, int wait_ms)
{
	struct pollfd p = { .fd = FD_LINES, .events = POLLOUT };
	struct err ignored;
	auto_str struct str out = { 0 };

	str_puts(&out, text);
	if (out.len > LINE_MAX_BYTES)
		str_cut(&out, LINE_MAX_BYTES);
	for (size_t i = 0; i < out.len; i++)
		if ((unsigned char)out.at[i] < ' ' || out.at[i] == 0x7f)
			out.at[i] = '?';
	str_putc(&out, '\n');
	if (poll(&p, 1, wait_ms) == 1 && p.revents & POLLOUT)
		file_write_all(FD_LINES, out.at, out.len, &ignored);
}

static void
progress(struct fetch *f, const char *text)
{
	auto_free char *all = xasprintf("progress %s", text);

	f->said = clock_ms();
	line(all, 0);
}

static void
say(void *arg, const char *text)
{
	progress(arg, text);
}

static void
sent(void *arg, uint64_t bytes)
{
	struct fetch *f = arg;
	char text[64];

	if (clock_ms() - f->said < 500)
		return;
	snprintf(text, sizeof text, "sent %llu MiB",
	    (unsigned long long)(bytes >> 20));
	progress(f, text);
}

/* ---- the broker ---- */

static int
wait_for(short events, int ms, struct err *err)
{
	struct pollfd p = { .fd = FD_LINK, .events = events };
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(err, "poll");
	if (r == 0)
		return err_set(err, ERR_TIMEOUT, "the broker is silent");
	return 0;
}

/* Ask, and wait for the answer; it comes back in m. */
static int
ask(struct fetch *f, struct link_msg *m, size_t reply, uint16_t nfd,
    struct err *err)
{
	int r, ms = m->type == BROKER_STORE ? STORE_WAIT_MS : BROKER_WAIT_MS;

	m->call = ++f->call;
	if (wait_for(POLLOUT, ms, err) < 0 || link_send(FD_LINK, m, err) < 0 ||
	    wait_for(POLLIN, ms, err) < 0)
		return -1;
	r = link_recv(FD_LINK, m, err);
	if (r <= 0)
		return r < 0 ? -1
			     : err_set(err, ERR_PROTO, "the broker has left");
	if (m->call == f->call && m->type == BROKER_ERR &&
	    m->len == sizeof *err) {
		memcpy(err, m->body, sizeof *err);
		err->text[sizeof err->text - 1] = '\0';
		return -1;
	}
	if (m->call != f->call || m->type != BROKER_OK || m->len != reply ||
	    m->nfd != nfd) {
		link_msg_drop(m);
		return err_set(err, ERR_PROTO, "the broker's answer is odd");
	}
	return 0;
}

static int
ask_store(struct fetch *f, struct err *err)
{
	auto_free struct link_msg *m = xcalloc(1, sizeof *m);
	struct broker_job job;

	m->type = BROKER_STORE;
	if (ask(f, m, sizeof job, 2, err) < 0)
		return err_wrap(err, "store");
	memcpy(&job, m->body, sizeof job);
	memcpy(f->dir, m->fd, sizeof f->dir);
	if (job.version != BROKER_VERSION ||
	    memchr(job.name, '\0', sizeof job.name) == NULL)
		return err_set(err, ERR_PROTO,
		    "the broker is of another build");
	strcpy(f->name, job.name);
	f->export = job.export != 0;
	return 0;
}

static int
commit(void *arg, const uint8_t id[IMAGE_DIGEST], struct err *err)
{
	auto_free struct link_msg *m = xcalloc(1, sizeof *m);
	struct broker_layer body;

	memcpy(body.digest, id, sizeof body.digest);
	m->type = BROKER_COMMIT;
	m->len = sizeof body;
	memcpy(m->body, &body, sizeof body);
	if (ask(arg, m, 0, 0, err) < 0)
		return err_wrap(err, "commit a layer");
	return 0;
}

static int
record(void *arg, const uint8_t (*id)[IMAGE_DIGEST], size_t n, struct err *err)
{
	auto_free struct link_msg *m = xcalloc(1, sizeof *m);
	auto_free struct broker_record *body = xcalloc(1, sizeof *body);
	struct fetch *f = arg;

	if (n > BROKER_LAYERS)
		return err_set(err, ERR_LIMIT, "too many layers");
	strcpy(body->name, f->name);
	body->nlayer = (uint32_t)n;
	memcpy(body->layer, id, n * sizeof *id);
	m->type = BROKER_RECORD;
	m->len = sizeof *body;
	memcpy(m->body, body, sizeof *body);
	if (ask(f, m, 0, 0, err) < 0)
		return err_wrap(err, "record the image");
	return 0;
}

#ifdef __SANITIZE_ADDRESS__
/* Nobody may look into another process in here, not even to find leaks. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static const struct image_ops ops = { commit, record, say };

/* ---- the two jobs ---- */

static int
run(struct fetch *f, struct err *err)
{
	struct image_job job = { .name = f->name,
		.most = f->most,
		.ops = &ops,
		.arg = f };
	struct export_to to = { .fd = FD_TAR, .tick = sent, .arg = f };

	if (ask_store(f, err) < 0)
		return -1;
	if (f->export) {
		close(f->dir[1]); /* we write to ours, and it has to end */
		return export_tree(f->dir[0], &to, err);
	}
	job.staging = f->dir[0];
	job.layers = f->dir[1];
	return image_import(FD_TAR, &job, err);
}

static int
number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' || end == text ? -1 : 0;
}

/* The bounds of an image, when the broker has other ones in mind. */
static int
options(struct fetch *f, char **argv)
{
	for (char **a = argv + 1; *a != NULL; a += 2) {
		uint64_t *to = strcmp(*a, "--bytes") == 0 ? &f->most.bytes
		    : strcmp(*a, "--entries") == 0        ? &f->most.entries
							  : NULL;

		if (to == NULL || a[1] == NULL || number(a[1], to) < 0)
			return -1;
	}
	return 0;
}

static int
end(const struct fetch *f, int r, const struct err *err)
{
	auto_free char *text = r == 0
	    ? xasprintf("done %s", f->name)
	    : xasprintf("error %s %s", err_name(err->code), err->text);

	close(FD_TAR); /* whoever reads it sees its end before the line */
	line(text, LINE_WAIT_MS);
	return r == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct fetch f = { .dir = { -1, -1 },
		.most = { BYTES_DEFAULT, ENTRIES_DEFAULT } };
	struct err err = { 0 };
	struct stat st;

	if (argc < 1 || options(&f, argv) < 0 || fstat(FD_LINES, &st) < 0) {
		fputs("hutch-fetch is started by hutchd\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	umask(0);
	return end(&f, run(&f, &err), &err);
}
