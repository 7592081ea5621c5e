/*
 * tar: headers of ustar archives with pax records, and GNU's sparse files.
 *
 * Pure: structs to bytes and back; reads and writes no file.  Writes what every
 * tar reads; reads what it writes, and pax archives of others.
 */
#ifndef AGENT_TAR_H
#define AGENT_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct err;

#define TAR_BLOCK 512
#define TAR_PAX_MAX (256 * 1024) /* bytes of records, or of a sparse map */
#define TAR_MAP_MAX 4096         /* pieces of a sparse file */

enum tar_type {
	TAR_FILE = '0',
	TAR_HARD = '1', /* .link: the path of the other name */
	TAR_LINK = '2', /* .link: what it says */
	TAR_DIR = '5',
	TAR_FIFO = '6',
	TAR_PAX = 'x',   /* read only: records for the next entry follow */
	TAR_OTHER = '?', /* read only */
};

struct tar_entry {
	enum tar_type type;
	struct str path, link;   /* without "/" in front */
	uint32_t mode, uid, gid; /* ids of a sandbox: at most 65535 */
	int64_t size;            /* of the file */
	int64_t stored;  /* bytes that follow, without padding; reading */
	int64_t seconds; /* mtime */
	uint32_t nano;
	bool sparse; /* what follows begins with its map */
};

struct tar_piece {
	int64_t at, size;
};

void tar_entry_free(struct tar_entry *);

/* The header, pax records included.  map: NULL, or its n pieces: then the map
 * is added too, and the bytes of the pieces are to follow. */
void tar_put(struct str *out, const struct tar_entry *,
    const struct tar_piece *map, size_t n);
void tar_pad(struct str *out, int64_t size); /* to the next block */
void tar_put_end(struct str *out);

/*
 * One block.  1: *out holds what is new in it and keeps what tar_records() has
 * put there; 0: a block of zeros, the end; -1.
 */
int tar_get(const uint8_t block[TAR_BLOCK], struct tar_entry *out,
    struct err *);
/* The bytes behind a TAR_PAX header: for the tar_get after it. */
int tar_records(const char *bytes, size_t n, struct tar_entry *, struct err *);
/*
 * The map of a sparse file from the first bytes of what is stored.  1: *used
 * bytes were it; 0: more bytes are needed; -1.
 */
int tar_map(const char *bytes, size_t n, struct tar_piece *map, size_t *pieces,
    size_t *used, struct err *);

#endif
