/*
 * zygote: a warm interpreter of a trusted image, whose copies join sandboxes.
 *
 * It runs in the broker's user and pid namespaces as an unprivileged id that
 * owns the user namespaces of all sandboxes (ns_child.owner), and nothing
 * else: no capability, no network, the image read-only.  Owning them is what
 * lets a copy enter one with setns(2) and become its root, with the profile's
 * capabilities and filter; see rootfs/zygote/hutch_zygote.py.
 *
 * It is told what to do by the broker only.  Its copies never come back.
 */
#ifndef ISOLATOR_ZYGOTE_H
#define ISOLATOR_ZYGOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;
struct err;
struct host;
struct instance;

struct zygote {
	pid_t pid; /* child of the caller */
	int pidfd;
	int link; /* SEQPACKET; readable: "ready", or it is over */
};

struct zygote_want {
	const int *layer; /* of the image, lowest first; borrowed */
	size_t nlayer;
	uid_t uid; /* outside; the owner of the sandboxes' namespaces */
	const char *const *program; /* name, text, name, text, ..., NULL */
	const char *const *argv;    /* [0] looked up in the image's PATH dirs */
};

void zygote_init(struct zygote *);
int zygote_start(struct host *, const struct zygote_want *, struct zygote *,
    struct err *);
/* Reaps it and closes; its copies live on. */
void zygote_stop(struct zygote *);

/*
 * A copy sets out for this sandbox, whose agent is told.  It stops at the
 * gate, which becomes readable, until zygote_admit() has put it into the
 * sandbox's control groups.  Close the gate after that, or to send it away.
 */
int zygote_join(struct zygote *, const struct instance *, int *gate,
    struct err *);
/* 1: it is on its way, 0: nobody at the gate yet, -1. */
int zygote_admit(int gate, const struct cgroup *, struct err *);

#endif
