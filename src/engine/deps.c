#include "engine/deps.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/box.h"
#include "engine/inner.h"
#include "guest/guest.h"
#include "manager/manager.h"
#include "wire/loop.h"

#define LIST_MAX (1u << 20) /* of requirements.txt */
#define LAST_MAX 4096       /* of what the installer said: for the reason */
#define SLACK_MS 60000
#define DEPS_PATH "/opt/hutch/deps"
#define NAME_MAX_LEN 80

static const char *const lists[] = { "requirements.txt", "pyproject.toml" };

/* $1: the list.  What the image has, it has: only the rest goes there. */
static const char script[] =
    "set -e\n"
    "mkdir -p " DEPS_PATH "\n"
    "export UV_CACHE_DIR=/tmp/uv-cache UV_LINK_MODE=copy UV_NO_PROGRESS=1\n"
    "export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1\n"
    "if command -v uv >/dev/null; then\n"
    "	exec uv pip install --python \"$(command -v python3)\""
    " --target " DEPS_PATH " -r \"$1\"\n"
    "fi\n"
    "case $1 in *.toml) echo 'the image has no uv, which pyproject.toml "
    "needs' >&2; exit 1;; esac\n"
    "exec python3 -m pip install --quiet --target " DEPS_PATH " -r \"$1\"\n";

struct installing {
	struct deployment *d;
	struct engine *e;
	struct box *box;
	struct code *code; /* what is being written */
	char name[NAME_MAX_LEN];
	const char *list;
	struct ring_writer *log;
	struct str last;
	struct watch *late;
	bool packing;
	struct err why;
	bool failed;
	deps_fn *fn;
	void *arg;
};

/* ---- names ---- */

/* Whether the list leads to other files of the code. */
static bool
looks_around(const char *list)
{
	if (strstr(list, "file:") != NULL)
		return true;
	while (*list != '\0') {
		list += strspn(list, " \t\r\n");
		if (*list == '-' || *list == '.' || *list == '/')
			return true;
		list += strcspn(list, "\n");
	}
	return false;
}

static int
add_code(struct str *what, const struct code *code, struct err *err)
{
	size_t n = (size_t)code_size(code);
	uint8_t digest[SHA256_BYTES];
	void *at = mmap(NULL, n, PROT_READ, MAP_PRIVATE, code_fd(code), 0);

	if (at == MAP_FAILED)
		return err_sys(err, "read the code");
	sha256(digest, at, n);
	munmap(at, n);
	str_add(what, digest, sizeof digest);
	return 0;
}

static int
name_of(struct engine *e, const struct version *v, const char *name,
    const struct str *list, char out[NAME_MAX_LEN], struct err *err)
{
	auto_str struct str what = { 0 };
	uint8_t digest[SHA256_BYTES], image[32];
	char hex[2 * SHA256_BYTES + 1];

	if (manager_image_id(e->conf.manager, v->spec->type, v->spec->image,
		image, err) < 0)
		return -1;
	str_printf(&what, "1 %s\n", name);
	str_add(&what, image, sizeof image);
	str_add(&what, list->at, list->len);
	if (looks_around(str_text(list)) && add_code(&what, v->code, err) < 0)
		return -1;
	sha256(digest, what.at, what.len);
	hex_put(hex, digest, sizeof digest);
	snprintf(out, NAME_MAX_LEN, "deps-%.40s.tar", hex);
	return 0;
}

/* ---- what is kept ---- */

static bool
in_use(const struct engine *e, const char *file)
{
	struct deployment *d;

	TAILQ_FOREACH(d, &e->all, next) {
		const struct version *v[] = { d->now, d->trying };

		for (int i = 0; i < 2; i++)
			if (v[i] != NULL && v[i]->deps != NULL &&
			    strcmp(code_file(v[i]->deps), file) == 0)
				return true;
	}
	return false;
}

struct found {
	uint64_t bytes;
	char oldest[NAME_MAX_LEN];
	struct timespec when;
};

static void
look(struct engine *e, struct found *f)
{
	int fd = openat(e->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *at;
	struct stat st;

	*f = (struct found){ 0 };
	while (d != NULL && (at = readdir(d)) != NULL) {
		if (strncmp(at->d_name, "deps-", 5) != 0 ||
		    strlen(at->d_name) >= sizeof f->oldest ||
		    fstatat(e->dir, at->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		f->bytes += (uint64_t)st.st_size;
		if (!in_use(e, at->d_name) &&
		    (f->oldest[0] == '\0' ||
			st.st_mtim.tv_sec < f->when.tv_sec)) {
			strcpy(f->oldest, at->d_name);
			f->when = st.st_mtim;
		}
	}
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* The longest unused go until the rest fits. */
static void
sweep(struct engine *e)
{
	struct found f;

	for (look(e, &f);
	     f.bytes > e->conf.config->agent_deps_kept && f.oldest[0] != '\0';
	     look(e, &f))
		unlinkat(e->dir, f.oldest, 0);
}

static struct code *
kept(struct engine *e, const char *file)
{
	struct err ignored;
	struct code *c;

	if (faccessat(e->dir, file, F_OK, 0) < 0)
		return NULL;
	c = code_open(e->dir, file, &ignored);
	if (c != NULL)
		utimensat(e->dir, file, NULL, AT_SYMLINK_NOFOLLOW);
	return c;
}

/* ---- the end ---- */

static void
installing_free(struct installing *in)
{
	in->d->installing = NULL;
	loop_unpost(in->e->conf.loop, in);
	box_free(in->box);
	code_drop(in->code);
	ring_close(in->log);
	watch_free(in->late);
	str_free(&in->last);
	free(in);
}

void
deps_cancel(struct installing *in)
{
	if (in != NULL)
		installing_free(in);
}

static void
over(struct installing *in, struct code *code, const struct err *told)
{
	deps_fn *fn = in->fn;
	void *arg = in->arg;
	struct err why;

	if (told != NULL) {
		why = *told;
		err_wrap(&why, "%s", in->list);
	}
	installing_free(in);
	fn(arg, code, told != NULL ? &why : NULL);
}

/* Not from within the box's callback: it goes, too. */
static void
fail_now(void *arg)
{
	struct installing *in = arg;
	struct err why = in->why;

	over(in, NULL, &why);
}

static void
fail(struct installing *in, const struct err *why)
{
	if (in->failed)
		return;
	in->failed = true;
	in->why = *why;
	loop_post(in->e->conf.loop, fail_now, in);
}

static void
late(void *arg, int what)
{
	struct installing *in = arg;
	struct err why;

	(void)what;
	err_set(&why, ERR_TIMEOUT, "not installed in time");
	fail(in, &why);
}

/* The installer's last words, as much as a reason has room for. */
static void
last_words(const struct installing *in, int status, struct err *why)
{
	const char *text = str_text(&in->last), *nl;
	size_t n = in->last.len;

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	if (n > 150) {
		text += n - 150;
		n = 150;
		nl = memchr(text, '\n', n);
		if (nl != NULL) { /* whole lines, if there is one */
			n -= (size_t)(nl + 1 - text);
			text = nl + 1;
		}
	}
	err_set(why, ERR_INVALID, "not installed (status %d): %.*s", status,
	    (int)n, text);
	for (char *c = why->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

static void
keep(void *arg)
{
	struct installing *in = arg;
	struct err why;
	struct code *code;

	if (code_finish(in->code, &why) < 0 ||
	    code_rename(in->code, in->name, &why) < 0) {
		over(in, NULL, &why);
		return;
	}
	code_keep(in->code, true);
	code = in->code;
	in->code = NULL;
	sweep(in->e);
	over(in, code, NULL);
}

/* ---- the sandbox ---- */

static void
ready(void *arg)
{
	struct installing *in = arg;
	const char *const argv[] = { "sh", "-c", script, "sh", in->list, NULL };
	const struct box_program p = { .argv = argv,
		.cwd = "/workspace",
		.work_ms = in->e->conf.config->agent_build_timeout * 1000 };
	struct err why;

	if (box_run(in->box, &p, &why) < 0)
		fail(in, &why);
}

static void
output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct installing *in = arg;
	struct err why;

	box_took(in->box, n);
	if (stream == 3) {
		if (!in->failed && code_write(in->code, bytes, n, &why) < 0)
			fail(in, &why);
		return;
	}
	ring_bytes(in->log, bytes, n);
	str_add(&in->last, bytes, n);
	if (in->last.len > LAST_MAX)
		str_drop(&in->last, in->last.len - LAST_MAX);
}

static void
ended(void *arg, const struct guest_done *done, const struct err *gone)
{
	struct installing *in = arg;
	struct err why;

	if (in->failed)
		return;
	if (gone != NULL || done->err != NULL) {
		fail(in, gone != NULL ? gone : done->err);
		return;
	}
	if (in->packing) {
		loop_post(in->e->conf.loop, keep, in);
		return;
	}
	if (done->exit != 0) {
		last_words(in, done->exit, &why);
		fail(in, &why);
		return;
	}
	in->packing = true;
	in->code =
	    code_new(in->e->dir, in->e->conf.config->agent_deps_max, &why);
	if (in->code == NULL || box_pack(in->box, DEPS_PATH, &why) < 0)
		fail(in, &why);
}

static const struct box_ops box_ops = { .ready = ready,
	.output = output,
	.ended = ended };

static struct installing *
install(struct deployment *d, const struct version *v, const char *list,
    const char *name, deps_fn *fn, void *arg)
{
	struct engine *e = d->e;
	const struct config *c = e->conf.config;
	const struct box_tar tar = { "/workspace", code_fd(v->code), NULL, 0 };
	const struct box_conf conf = { .loop = e->conf.loop,
		.manager = e->conf.manager,
		.agent = d->name,
		.type = v->spec->type,
		.image = v->spec->image,
		.net = v->spec->net != NULL ? v->spec->net : "nat",
		.tenant = d->tenant,
		.tar = &tar,
		.ntar = 1,
		.ops = &box_ops };
	struct installing *in = xcalloc(1, sizeof *in);
	struct box_conf mine = conf;

	in->d = d;
	in->e = e;
	in->list = list;
	in->fn = fn;
	in->arg = arg;
	strcpy(in->name, name);
	in->log = ring_open(d->log, "install");
	in->late = watch_timer(e->conf.loop, late, in);
	watch_arm(in->late, (int64_t)c->agent_build_timeout * 1000 + SLACK_MS);
	mine.arg = in;
	in->box = box_new(&mine);
	d->installing = in;
	return in;
}

struct installing *
deps_get(struct deployment *d, const struct version *v, deps_fn *fn, void *arg)
{
	auto_str struct str list = { 0 };
	char name[NAME_MAX_LEN];
	struct code *code;
	struct err err;
	int r = 0;

	for (size_t i = 0; v->code != NULL && v->spec->command == NULL &&
	     i < sizeof lists / sizeof *lists && r == 0;
	     i++) {
		r = code_find(v->code, lists[i], LIST_MAX, &list, &err);
		if (r == 1 && name_of(d->e, v, lists[i], &list, name, &err) < 0)
			r = -1;
		if (r == 1 && (code = kept(d->e, name)) == NULL)
			return install(d, v, lists[i], name, fn, arg);
		if (r == 1) {
			fn(arg, code, NULL);
			return NULL;
		}
	}
	fn(arg, NULL, r < 0 ? &err : NULL);
	return NULL;
}
