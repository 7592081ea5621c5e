/*
 * pack: a folder as the bytes of a tar, made while they are asked for.
 *
 * For image layouts (regular files and folders only) and code; sorted, so that
 * the same folder makes the same bytes.  Holds one buffer, whatever the folder's size.
 */
#ifndef CLI_PACK_H
#define CLI_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct pack;

struct pack *pack_open(const char *dir, struct err *);
/*
 * An agent's code: a folder, or one file and the requirements.txt beside it.
 * Links and rights to execute are kept; what tools leave behind (__pycache__,
 * .git, virtual environments) and what is no file is left out.
 */
struct pack *pack_open_code(const char *path, struct err *);
void pack_free(struct pack *);
/* 0: that was all; -1: err */
ssize_t pack_read(struct pack *, void *buf, size_t n, struct err *);

#endif
