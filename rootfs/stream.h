/*
 * stream: a tar in an open file, plain or compressed with gzip or zstd.
 *
 * Which it is, its first bytes say and no media type.  The digest is of the
 * uncompressed bytes: what OCI calls the diff id.  libarchive does both steps;
 * the readers are built so that it tries nothing else.
 *
 * Names come out as the bytes that they are.  For that the process must stay in
 * the C locale: in a UTF-8 one libarchive composes what was decomposed.
 */
#ifndef ROOTFS_STREAM_H
#define ROOTFS_STREAM_H

#include <stdint.h>

#define STREAM_DIGEST 32

struct archive;
struct archive_entry;
struct err;
struct stream;

/* From the descriptor's position, at most `most` uncompressed bytes. */
struct stream *stream_open(int fd, uint64_t most, struct err *);
void stream_free(struct stream *);
/* The tar reader; owned by the stream. */
struct archive *stream_tar(struct stream *);
/* The next entry: libarchive's code, ARCHIVE_OK or ARCHIVE_EOF or an error. */
int stream_next(struct stream *, struct archive_entry **);
/* Reads what is left, then says the digest of everything. */
int stream_finish(struct stream *, uint8_t digest[STREAM_DIGEST], struct err *);
/* What went wrong in the last call to libarchive, as an err. */
int stream_err(struct stream *, struct err *);
uint64_t stream_bytes(const struct stream *); /* uncompressed, so far */

#endif
