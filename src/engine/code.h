/*
 * code: an agent's code as it was sent: a tar in the front's directory.
 *
 * Written once while it comes in, then read by every worker that is filled
 * from it; the file goes with the last who holds it, unless it is kept.  Looked
 * into only for the few files that say what has to be installed.
 */
#ifndef ENGINE_CODE_H
#define ENGINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code;
struct err;
struct str;

/* dir: borrowed for its life.  most: bytes, then it is refused. */
struct code *code_new(int dir, uint64_t most, struct err *);
struct code *code_open(int dir, const char *file, struct err *);
int code_write(struct code *, const void *, size_t n, struct err *);
/* All of it is there: checked that it is a tar, and synced. */
int code_finish(struct code *, struct err *);
void code_hold(struct code *);
void code_drop(struct code *); /* NULL: nothing */
/* Another name, over what has it. */
int code_rename(struct code *, const char *file, struct err *);
/* The file outlives its holders, or doesn't any more. */
void code_keep(struct code *, bool);
const char *code_file(const struct code *); /* its name in the directory */
int code_fd(const struct code *);           /* read it with pread */
uint64_t code_size(const struct code *);

/* A file at the top of the tar; 1: found, 0: there is none. */
int code_find(const struct code *, const char *name, size_t most,
    struct str *out, struct err *);
/* Files in the directory that are none of these go. */
void code_sweep(int dir, bool (*wanted)(void *arg, const char *file),
    void *arg);

#endif
