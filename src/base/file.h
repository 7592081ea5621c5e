/*
 * file: whole files and whole writes, by descriptor.
 *
 * Every name is relative to a directory descriptor and resolved with
 * O_NOFOLLOW on its last part; for names that someone else chose see path.h.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct str;

/* All n bytes, retried on EINTR; blocking descriptors only. */
int file_write_all(int fd, const void *bytes, size_t n, struct err *);
int file_read_all(int fd, struct str *out, size_t most, struct err *);
int file_read_at(int dir, const char *name, struct str *out, size_t most,
    struct err *);
/* To a temporary name beside it, fsync, rename; mode whatever the umask. */
int file_replace_at(int dir, const char *name, const void *bytes, size_t n,
    mode_t mode, struct err *);
/* Existing file, one write: for files of /proc, /sys and cgroups. */
int file_put_at(int dir, const char *name, const char *value, struct err *);
/* Make it if missing; returns the directory's descriptor, yours to close. */
int file_mkdir_at(int dir, const char *name, mode_t mode, struct err *);
/*
 * Remove name and all below it, by descriptors and never across a mount.
 * A missing name is success.
 */
int file_remove_tree(int dir, const char *name, struct err *);
/* A sealed memfd that holds these bytes, CLOEXEC. */
int file_memfd(const char *label, const void *bytes, size_t n, struct err *);

#endif
