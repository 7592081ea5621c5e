#include <archive.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/stream.h"

#define BLOCK (128 * 1024)

struct stream {
	int fd;                 /* borrowed */
	struct archive *packed; /* NULL when the tar is plain */
	struct archive *tar;
	EVP_MD_CTX *md;
	uint64_t bytes, most;
	size_t headn; /* bytes of buf that were read to see what it is */
	bool over;
	uint8_t in[BLOCK], buf[BLOCK];
};

OWN_DEFINE(struct stream, stream_free)

/* clang-format off */
static const struct {
	const char	*magic;
	size_t		 n;
	int		 filter;	/* libarchive's number of it */
} packings[] = {
	{ "\x1f\x8b",		2, ARCHIVE_FILTER_GZIP },
	{ "\x28\xb5\x2f\xfd",	4, ARCHIVE_FILTER_ZSTD },
};
/* clang-format on */

static ssize_t
read_fd(struct stream *s, uint8_t *buf)
{
	ssize_t n;

	if (s->headn > 0) {
		n = (ssize_t)s->headn;
		s->headn = 0;
		memmove(buf, s->in, (size_t)n);
		return n;
	}
	do
		n = read(s->fd, buf, BLOCK);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The compressed bytes, for the reader that unpacks them. */
static la_ssize_t
feed_packed(struct archive *a, void *arg, const void **at)
{
	struct stream *s = arg;
	ssize_t n = read_fd(s, s->in);

	if (n < 0)
		archive_set_error(a, errno, "read");
	*at = s->in;
	return n;
}

static ssize_t
unpacked(struct stream *s, const void **at)
{
	const void *block;
	la_int64_t offset;
	size_t n = 0;
	int r;

	if (s->packed == NULL) {
		*at = s->buf;
		return read_fd(s, s->buf);
	}
	do
		r = archive_read_data_block(s->packed, &block, &n, &offset);
	while (r == ARCHIVE_OK && n == 0);
	if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
		return -1;
	*at = block;
	return r == ARCHIVE_EOF ? 0 : (ssize_t)n;
}

/* The tar's bytes, on their way through the digest. */
static la_ssize_t
feed_tar(struct archive *a, void *arg, const void **at)
{
	struct stream *s = arg;
	ssize_t n = unpacked(s, at);

	if (n < 0 && s->packed != NULL)
		archive_set_error(a, archive_errno(s->packed), "%s",
		    archive_error_string(s->packed));
	else if (n < 0)
		archive_set_error(a, errno, "read");
	else if ((uint64_t)n > s->most - s->bytes) {
		s->over = true;
		archive_set_error(a, EFBIG, "longer than an image may be");
		return -1;
	}
	if (n <= 0)
		return n;
	s->bytes += (uint64_t)n;
	EVP_DigestUpdate(s->md, *at, (size_t)n);
	return n;
}

static int
head(struct stream *s, struct err *err)
{
	while (s->headn < 4) {
		ssize_t n = read(s->fd, s->in + s->headn, 512 - s->headn);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			break;
		s->headn += (size_t)n;
	}
	return 0;
}

static int
open_packed(struct stream *s, int filter, struct err *err)
{
	struct archive_entry *e;

	s->packed = archive_read_new();
	if (s->packed == NULL ||
	    archive_read_append_filter(s->packed, filter) != ARCHIVE_OK ||
	    archive_read_support_format_raw(s->packed) != ARCHIVE_OK ||
	    archive_read_open(s->packed, s, NULL, feed_packed, NULL) !=
		ARCHIVE_OK ||
	    archive_read_next_header(s->packed, &e) != ARCHIVE_OK)
		return err_set(err, ERR_INVALID, "cannot decompress: %s",
		    s->packed == NULL ? "no memory"
				      : archive_error_string(s->packed));
	return 0;
}

static int
open_tar(struct stream *s, struct err *err)
{
	s->md = EVP_MD_CTX_new();
	s->tar = archive_read_new();
	if (s->md == NULL || EVP_DigestInit_ex(s->md, EVP_sha256(), NULL) != 1)
		return err_set(err, ERR_SYS, "no SHA-256 here");
	if (s->tar == NULL ||
	    archive_read_support_format_tar(s->tar) != ARCHIVE_OK)
		return err_set(err, ERR_SYS, "libarchive cannot read tar");
	if (archive_read_open(s->tar, s, NULL, feed_tar, NULL) != ARCHIVE_OK)
		return stream_err(s, err);
	return 0;
}

static struct stream *
stream_none(struct err *err)
{
	err_set(err, ERR_INVALID, "archives are read in the C locale only");
	return NULL;
}

struct stream *
stream_open(int fd, uint64_t most, struct err *err)
{
	own(stream_free) struct stream *s = xcalloc(1, sizeof *s);
	int filter = ARCHIVE_FILTER_NONE;

	if (MB_CUR_MAX != 1)
		return stream_none(err);
	s->fd = fd;
	s->most = most;
	if (head(s, err) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
		if (s->headn >= packings[i].n &&
		    memcmp(s->in, packings[i].magic, packings[i].n) == 0)
			filter = packings[i].filter;
	if (filter != ARCHIVE_FILTER_NONE && open_packed(s, filter, err) < 0)
		return NULL;
	if (open_tar(s, err) < 0)
		return NULL;
	return take_ptr(&s);
}

void
stream_free(struct stream *s)
{
	if (s->tar != NULL)
		archive_read_free(s->tar);
	if (s->packed != NULL)
		archive_read_free(s->packed);
	EVP_MD_CTX_free(s->md);
	free(s);
}

struct archive *
stream_tar(struct stream *s)
{
	return s->tar;
}

/*
 * A warning is a header that the library could only guess at, and so an error;
 * except that it says it of any name beyond ASCII, which is right as it is.
 */
int
stream_next(struct stream *s, struct archive_entry **ae)
{
	static const char harmless[] =
	    " can't be converted from UTF-8 to current locale.";
	int r = archive_read_next_header(s->tar, ae);
	const char *why, *tail;

	if (r != ARCHIVE_WARN)
		return r;
	why = archive_error_string(s->tar);
	tail = why != NULL ? strstr(why, harmless) : NULL;
	return tail != NULL && strcmp(tail, harmless) == 0 ? ARCHIVE_OK : r;
}

int
stream_err(struct stream *s, struct err *err)
{
	const char *why = archive_error_string(s->tar);

	return err_set(err, s->over ? ERR_LIMIT : ERR_INVALID, "%.180s",
	    why != NULL ? why : "not a tar");
}

int
stream_finish(struct stream *s, uint8_t digest[STREAM_DIGEST], struct err *err)
{
	const void *at;
	la_ssize_t n;

	while ((n = feed_tar(s->tar, s, &at)) > 0)
		;
	if (n < 0)
		return stream_err(s, err);
	if (EVP_DigestFinal_ex(s->md, digest, NULL) != 1)
		return err_set(err, ERR_SYS, "SHA-256 failed");
	return 0;
}

uint64_t
stream_bytes(const struct stream *s)
{
	return s->bytes;
}
