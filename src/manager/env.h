/*
 * env: what a sandbox is given to see: environment and mounts.
 *
 * Defaults, then the image's, the type's and the request's, the later beating
 * the earlier.  No secret of ours is ever among them.
 */
#ifndef MANAGER_ENV_H
#define MANAGER_ENV_H

#include <stddef.h>

struct broker_mount;
struct conf_type;
struct config;
struct image;

/* NULL-ended "NAME=value", each name once; env_free it. */
char **env_make(const struct config *, const struct conf_type *,
    const struct image *, const char *const *request);
void env_free(char **);
/* BROKER_MOUNTS at most; how many.  dir "": none asked for. */
size_t mounts_make(const struct config *, const char *dir,
    struct broker_mount *);

#endif
