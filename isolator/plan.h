/*
 * plan: a sandbox's file system as data.
 *
 * plan_make() decides and touches nothing; plan_run() (mount.c) does and
 * decides nothing.  So what a spec leads to is tested without root, by
 * comparing printed plans, and the privileged half is a short list of verbs.
 */
#ifndef ISOLATOR_PLAN_H
#define ISOLATOR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "isolator/spec.h"

struct err;
struct str;

enum plan_verb {
	PLAN_ROOT,     /* .fd becomes what all else is below */
	PLAN_MOVE,     /* .fd is mounted at .at */
	PLAN_TMPFS,    /* a fresh one of .bytes */
	PLAN_PTS,      /* terminals of its own */
	PLAN_PROC,     /* processes of its own */
	PLAN_MASK,     /* below the new /proc: hidden if it is there */
	PLAN_SEAL,     /* below the new /proc: read-only if it is there */
	PLAN_PIVOT,    /* the old root is gone */
	PLAN_READONLY, /* the root itself, now that it is complete */
	PLAN_VERBS
};

enum {
	PLAN_RO = 1,
	PLAN_NOEXEC = 2,
	PLAN_DIR = 4,      /* of PLAN_MASK: it is a directory */
	PLAN_PIDS = 8,     /* of PLAN_PROC: nothing but processes */
	PLAN_PRIVATE = 16, /* of PLAN_TMPFS: its owner's only */
};

struct plan_step {
	enum plan_verb verb;
	int fd;         /* enum spec_fd; -1: none */
	const char *at; /* below the root, never absolute */
	uint64_t bytes;
	unsigned flags;
};

#define PLAN_STEPS 48

struct plan {
	struct plan_step step[PLAN_STEPS];
	size_t n;
};

/* Borrows the spec's text. */
int plan_make(const struct spec *, struct plan *, struct err *);
/* Those of /proc alone, at the end of what p has. */
int plan_masks(struct plan *, struct err *);
void plan_print(const struct plan *, struct str *out);
/* What every sandbox has, made before its spec is there: -1 where it could not
 * be.  Detached. */
struct plan_ahead {
	int proc, pts;
	bool masked; /* .proc has its masks and seals already */
};
void plan_ahead(struct plan_ahead *);
/* In fresh user, mount, pid and ipc namespaces; fd as in spec_in. */
int plan_run(const struct plan *, struct plan_ahead *, const int fd[SPEC_FDS],
    struct err *);

#endif
