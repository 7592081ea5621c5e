/*
 * spool: the files of an image archive, kept until the image is made.
 *
 * An archive names its files in any order and says what they are for at its
 * end; so they are written to numbered files first, and looked up by name.
 * Each one's digest is taken on the way.  Knows nothing of what they hold.
 */
#ifndef ROOTFS_SPOOL_H
#define ROOTFS_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_DIGEST 32

struct err;
struct str;

struct spool_file {
	char *name;  /* as in the archive, without "./" */
	char *alias; /* another name to look up instead, or NULL */
	unsigned number;
	uint64_t size;
	uint8_t digest[SPOOL_DIGEST]; /* SHA-256 */
};

struct spool {
	int dir; /* borrowed */
	struct spool_file *at;
	size_t n, room;
	uint64_t left; /* bytes that may still come */
	void (*tick)(void *, uint64_t bytes);
	void *arg;
};

/* Read the tar from fd to its end; .dir, .left and .tick are set. */
int spool_read(struct spool *, int fd, struct err *);
void spool_free(struct spool *); /* removes the files too */
/* The last file of that name; links between names are followed. */
const struct spool_file *spool_find(const struct spool *, const char *name);
int spool_open(const struct spool *, const struct spool_file *, struct err *);
int spool_text(const struct spool *, const struct spool_file *, size_t most,
    struct str *, struct err *);

#endif
