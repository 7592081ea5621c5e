#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/policy.h"
#include "rootfs/spool.h"
#include "rootfs/stream.h"

#define FILES_MAX 4096
#define ENTRIES_MAX 65536
#define NAME_MOST 1024
#define LINKS_MAX 8
#define TICK (16u << 20)

OWN_DEFINE(struct stream, stream_free)
OWN_DEFINE(EVP_MD_CTX, EVP_MD_CTX_free)

static void
file_name(char out[32], unsigned number)
{
	snprintf(out, 32, "spool-%u", number);
}

static struct spool_file *
add(struct spool *s, const char *name, struct err *err)
{
	if (s->n == FILES_MAX || strlen(name) > NAME_MOST) {
		err_set(err, ERR_LIMIT, "too many files, or too long a name");
		return NULL;
	}
	if (s->n == s->room) {
		s->room = s->room > 0 ? s->room * 2 : 32;
		s->at = xrealloc(s->at, s->room * sizeof *s->at);
	}
	s->at[s->n] = (struct spool_file){ .name = xstrdup(name),
		.number = (unsigned)s->n };
	return &s->at[s->n++];
}

static int
copy(struct spool *s, struct stream *in, int to, struct spool_file *f,
    struct err *err)
{
	own(EVP_MD_CTX_free) EVP_MD_CTX *md = EVP_MD_CTX_new();
	auto_free char *buf = xmalloc(1 << 17);
	uint64_t ticked = 0;
	la_ssize_t n;

	if (md == NULL || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)
		return err_set(err, ERR_SYS, "no SHA-256 here");
	while ((n = archive_read_data(stream_tar(in), buf, 1 << 17)) > 0) {
		if ((uint64_t)n > s->left)
			return err_set(err, ERR_LIMIT,
			    "more bytes than an image may have");
		s->left -= (uint64_t)n;
		f->size += (uint64_t)n;
		EVP_DigestUpdate(md, buf, (size_t)n);
		if (file_write_all(to, buf, (size_t)n, err) < 0)
			return -1;
		if (s->tick != NULL && f->size - ticked >= TICK) {
			ticked = f->size;
			s->tick(s->arg, stream_bytes(in));
		}
	}
	if (n < 0)
		return stream_err(in, err);
	EVP_DigestFinal_ex(md, f->digest, NULL);
	return 0;
}

static int
keep_file(struct spool *s, struct stream *in, const char *name, struct err *err)
{
	struct spool_file *f = add(s, name, err);
	char file[32];
	auto_fd int to = -1;

	if (f == NULL)
		return -1;
	file_name(file, f->number);
	to = openat(s->dir, file,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return err_sys(err, "create %s", file);
	return copy(s, in, to, f, err);
}

/* docker save writes a layer that it has written before as a link to it. */
static int
keep_link(struct spool *s, const char *name, const char *target, bool hard,
    struct err *err)
{
	auto_str struct str path = { 0 };
	auto_free char *dir = policy_above(name);
	char clean[PATH_MAX];
	struct spool_file *f;

	if (!hard)
		str_puts(&path, dir);
	while (!hard && strncmp(target, "../", 3) == 0 && path.len > 0) {
		auto_free char *up = policy_above(path.at);

		str_cut(&path, strlen(up));
		target += 3;
	}
	str_printf(&path, "%s%s", path.len > 0 ? "/" : "", target);
	if (policy_path(path.at, clean, err) < 0)
		return -1;
	f = add(s, name, err);
	if (f == NULL)
		return -1;
	f->alias = xstrdup(clean);
	return 0;
}

static int
keep(struct spool *s, struct stream *in, struct archive_entry *ae,
    struct err *err)
{
	const char *raw = archive_entry_pathname(ae);
	const char *hard = archive_entry_hardlink(ae);
	const char *soft = archive_entry_symlink(ae);
	char name[PATH_MAX];

	if (raw == NULL)
		return err_set(err, ERR_INVALID, "entry without a name");
	if (policy_path(raw, name, err) < 0)
		return -1;
	if (hard != NULL || soft != NULL)
		return keep_link(s, name, hard != NULL ? hard : soft,
		    hard != NULL, err);
	if (archive_entry_filetype(ae) != AE_IFREG)
		return 0;
	return keep_file(s, in, name, err);
}

int
spool_read(struct spool *s, int fd, struct err *err)
{
	uint8_t digest[STREAM_DIGEST];
	/* Headers and padding count too, against a bound of their own. */
	own(stream_free) struct stream *in =
	    stream_open(fd, s->left + (256u << 20), err);
	struct archive_entry *ae;
	int r, entries = 0;

	if (in == NULL)
		return -1;
	while ((r = stream_next(in, &ae)) == ARCHIVE_OK) {
		if (++entries > ENTRIES_MAX)
			return err_set(err, ERR_LIMIT, "too many entries");
		if (keep(s, in, ae, err) < 0)
			return -1;
	}
	if (r != ARCHIVE_EOF)
		return stream_err(in, err);
	return stream_finish(in, digest, err);
}

void
spool_free(struct spool *s)
{
	for (size_t i = 0; i < s->n; i++) {
		char file[32];

		file_name(file, s->at[i].number);
		unlinkat(s->dir, file, 0);
		free(s->at[i].name);
		free(s->at[i].alias);
	}
	free(s->at);
	s->at = NULL;
	s->n = s->room = 0;
}

const struct spool_file *
spool_find(const struct spool *s, const char *name)
{
	for (int links = 0; links <= LINKS_MAX; links++) {
		const struct spool_file *f = NULL;

		for (size_t i = s->n; f == NULL && i-- > 0;)
			if (strcmp(s->at[i].name, name) == 0)
				f = &s->at[i];
		if (f == NULL || f->alias == NULL)
			return f;
		name = f->alias;
	}
	return NULL;
}

int
spool_open(const struct spool *s, const struct spool_file *f, struct err *err)
{
	char file[32];
	int fd;

	file_name(file, f->number);
	fd = openat(s->dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, "open %.120s", f->name);
	return fd;
}

int
spool_text(const struct spool *s, const struct spool_file *f, size_t most,
    struct str *out, struct err *err)
{
	auto_fd int fd = spool_open(s, f, err);

	if (fd < 0)
		return -1;
	if (file_read_all(fd, out, most, err) < 0)
		return err_wrap(err, "%.120s", f->name);
	return 0;
}
