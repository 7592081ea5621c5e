/*
 * receive: where a tar that comes in goes: a folder, a file, or our output.
 *
 * A folder is unpacked by rootfs/extract in a child process, since that reads
 * while we are written to.  With root's rights owners are kept.
 */
#ifndef CLI_RECEIVE_H
#define CLI_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct receive;

/* "-": standard output; "*.tar": a file; else a folder, new or empty. */
struct receive *receive_open(const char *dest, struct err *);
int receive_bytes(struct receive *, const void *, size_t n, struct err *);
/* whole: all has come; else what there is goes.  Frees. */
int receive_end(struct receive *, bool whole, struct err *);

#endif
