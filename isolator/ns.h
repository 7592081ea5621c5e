/*
 * ns: a child of the broker in fresh namespaces, quickly.
 *
 * clone3 with shared memory and a stack of its own: nothing is copied, so the
 * broker's size and its number of descriptors don't matter.  The child runs
 * raw system calls only, until it has executed the agent, whose first stage
 * waits on the control socket.  Knows namespaces and ids; no mounts, no
 * cgroups beyond the descriptor to be born in.
 */
#ifndef ISOLATOR_NS_H
#define ISOLATOR_NS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct ns; /* what is kept for the purpose: memory, low descriptors */

/* Who the child is. All ids of a field are in the broker's namespace. */
struct ns_child {
	uint32_t first, count; /* 0..count-1 inside are first.. outside */
	uid_t owner;           /* of the user namespace; 0 as a rule */
	int cgroup;            /* v2 directory to be born in; -1: none */
	int net;               /* network namespace to be in; -1: a fresh one */
};

struct ns_born {
	pid_t pid;
	int pidfd, control; /* yours */
	uint32_t clone_us, maps_us;
};

/* image: a descriptor of the static executable; it is duplicated. */
struct ns *ns_open(int image, struct err *);
void ns_close(struct ns *);

/* Fresh user, pid, mount, ipc, uts and (net < 0) network namespace; ids
 * mapped; on its way to execute the image. */
int ns_start(struct ns *, const struct ns_child *, struct ns_born *,
    struct err *);

/* A user namespace that nobody lives in, for idmapped mounts: users from uid
 * on, and groups from gid on, count of each, become outside.. . */
int ns_user(struct ns *, uint32_t uid, uint32_t gid, uint32_t outside,
    uint32_t count, struct err *);

/* SIGKILL and reap; for children that nobody else knows of yet. */
void ns_end(struct ns_born *);

#endif
