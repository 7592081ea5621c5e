/*
 * root: the writable trees of a sandbox, as detached mounts.
 *
 * The root is one overlay over a list of layers, idmapped to the sandbox's
 * slot; its upper directory is a sized tmpfs whose files rest in slot-0 ids,
 * so that it can become a layer for any other slot.  Nothing has a path: a
 * mount that its last descriptor leaves is gone, with all that was in it.
 *
 * On kernels that take no layers by descriptor, or none that are detached, the
 * same is done by attaching them in the nest for the moment.
 */
#ifndef ISOLATOR_ROOT_H
#define ISOLATOR_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct idmap;
struct nest;
struct ns;
struct roots;

struct root {
	const int *layer; /* lowest first */
	size_t nlayer;
	bool plain; /* their files have ids 0..65535 */
	uint32_t slot;
	uint64_t bytes; /* of the upper; 0: no bound */
	const char
	    *hostname; /* for /etc/hosts and hostname; NULL: as they are */
	const char *resolver; /* for /etc/resolv.conf; likewise */
	int *upper; /* root_upper() of these, taken; NULL or -1: one is made */
};

/* Tries out which way this kernel takes; avoid: ROOT_* not to be used. */
enum { ROOT_BY_FD = 1 };
struct roots *roots_open(struct ns *, struct nest *, struct idmap *,
    uint32_t id_base, unsigned avoid, struct err *);
void roots_close(struct roots *);

/* Closes what the making of roots left open: a detached mount's end waits for
 * an RCU period, which need not be while somebody waits for the root. */
void roots_tidy(struct roots *);

/* Each a detached mount, yours; nosuid, nodev. */
int root_make(struct roots *, const struct root *, struct err *);
/* What the root's files are written to, for a root that is still to come. */
int root_upper(struct roots *, uint32_t slot, uint64_t bytes, struct err *);
/* Every other writable mount: an empty tree of the slot's root user. */
int root_writable(struct roots *, uint32_t slot, uint64_t bytes, struct err *);
/* A host's directory or file, its owner shown as the slot's root; all other
 * owners are nobody there. */
int root_volume(struct roots *, uint32_t slot, int fd, struct err *);
/* Layers merged, read-only, in the ids that they rest in. */
int root_merged(struct roots *, const int *layer, size_t n, struct err *);

#endif
