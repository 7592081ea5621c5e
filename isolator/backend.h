/*
 * backend: how a sandbox comes to run.  Above this line all back ends are alike.
 *
 * Called by the broker only.  Everything in a struct box has been checked
 * against policy; here it is only carried out.  Knows no users, no images, no
 * requests.
 */
#ifndef ISOLATOR_BACKEND_H
#define ISOLATOR_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "isolator/cgroup.h"

struct err;
struct host; /* what was made once at start: agent image, filters, templates */

enum profile {
	PROFILE_BOX,
	PROFILE_HARDENED,
	PROFILE_FRONT,
	PROFILE_FETCH,
	PROFILE_MODEL,
	PROFILES
};

enum backend_step {
	STEP_ROOT,
	STEP_CGROUP,
	STEP_NET,
	STEP_CLONE,
	STEP_MAPS,
	STEP_SPEC,
	BACKEND_STEPS
};

#define BOX_LAYERS 128
#define BOX_MOUNTS 4

struct box_mount {
	int fd;         /* a directory (or file) of the host; borrowed.  Its
			 * owner is shown as the sandbox's root */
	const char *at; /* absolute in the sandbox */
	bool readonly;
};

/*
 * A blank: a sandbox cloned ahead that waits for what it is to become.  It fits
 * every box of this slot and network; where its limits or sizes are others,
 * those of the box count.
 */
struct blank;
struct box_sizes {
	uint64_t root, work; /* as .root_bytes and .work_bytes of the box */
};
struct blank_want {
	const char *name; /* of its control group */
	uint32_t slot;
	int net;                            /* as in struct box; borrowed */
	const struct cgroup_limits *limits; /* NULL: none yet */
	uid_t owner; /* of its user namespace; 0: the broker */
	/* As most boxes want it: what is to be written to is there, then. */
	const struct box_sizes *sizes; /* NULL: not known */
};

/* What to start.  Descriptors and text are borrowed for the call. */
struct box {
	const char *name;     /* [0-9a-f]{32}: cgroup, log */
	const char *hostname; /* also in /etc/hosts; "": no name of its own */
	enum profile profile;
	uint32_t slot;    /* which range of ids: see idmap.h */
	const int *layer; /* directories in slot-0 ids, lowest first */
	size_t nlayer;
	bool plain; /* layers are host directories with ids 0..65535 */
	bool readonly;
	uint64_t root_bytes, work_bytes, shm_bytes; /* 0: no bound but memory */
	uint32_t nofile;
	struct cgroup_limits limits;
	int net; /* a network namespace to live in (its resolver is NET_RESOLVER
		  * then); -1: a fresh, empty one */
	struct box_mount mount[BOX_MOUNTS];
	size_t nmount;
	struct blank *blank; /* taken, whatever comes of it; NULL: none */
};

/* What every back end gives back; instance_drop() closes what is left. */
struct instance {
	pid_t pid;   /* child of the broker */
	int pidfd;   /* readable when it is over */
	int control; /* broker's end; fds of new streams go in, nothing out */
	int stream;  /* the front's end of the first stream; non-blocking */
	struct host *host;
	struct cgroup cgroup;
	uint32_t step_us[BACKEND_STEPS];
};

struct backend {
	const char *name;
	int (*probe)(struct host *, struct err *); /* can this host do it? */
	int (*start)(struct host *, const struct box *, struct instance *,
	    struct err *);
	struct blank *(
	    *prepare)(struct host *, const struct blank_want *, struct err *);
	void (*discard)(struct host *, struct blank *);
	/* A fresh stream pair: inner end to the agent, outer returned: yours,
	 * close-on-exec, non-blocking. */
	int (*attach)(struct instance *, struct err *);
	/* At once; its end shows on the pidfd. */
	int (*stop)(struct instance *, struct err *);
	int (*freeze)(struct instance *, bool on, struct err *);
	int (*usage)(const struct instance *, struct usage *, struct err *);
};

extern const struct backend backend_ns;

void instance_init(struct instance *); /* all descriptors -1 */
/* After the pid has been reaped: removes the cgroup, closes. */
void instance_drop(struct instance *);

struct host_conf {
	int agent;        /* hutch-agent, opened for reading */
	const char *name; /* of this daemon instance: cgroup parent */
	uint32_t id_base; /* first id of slot 0 */
	uint32_t slots;
	unsigned require; /* CGROUP_* that must be enforceable */
	uid_t owner;      /* of the sandboxes' user namespaces; see zygote.h */
	unsigned avoid;   /* ROOT_*: for tests of the fallbacks; else 0 */
};

/* Made once at start, before any listener is open.  Also sweeps what a former
 * life of the same instance name left (cgroups with processes in them).  The
 * working directory becomes "/" and stays it: no relative paths afterwards.
 * The umask must be 022: what sandboxes see is made in this process. */
struct host *host_new(const struct host_conf *, struct err *);
void host_free(struct host *);
/* What takes time and nobody waits for: to be called in pauses. */
void host_tidy(struct host *);
struct cgroups *host_cgroups(struct host *); /* for cgroup_oom_fd */
/* Layers as one read-only tree, in the ids that they rest in; detached. */
int host_merged(struct host *, const int *layer, size_t n, struct err *);
uint32_t host_first_id(const struct host *,
    uint32_t slot); /* as seen outside */

/*
 * One of our own processes, confined: the front or a fetcher.  exec is an open
 * executable; fd[0..nfd) become descriptors 3, 4, ... in it.  The root it sees:
 * read-only /usr, /lib*, /etc/{resolv.conf,ssl,localtime,ld.so.cache}, a small
 * /tmp and the directory `dir` at /state (if >= 0), owned by its uid 0.
 * PROFILE_FRONT runs as the first id of range `slot`, without capabilities, in
 * an empty network namespace.  PROFILE_MODEL likewise, in the caller's network:
 * it may connect, and no more.  PROFILE_FETCH is root of a user namespace over
 * slot 0 with the capabilities an unpacker needs.  Descriptors 0 and 1 are
 * /dev/null, 2 is the caller's.  `dir` belongs outside to
 * host_first_id(slot) (or to the first id of slot 0: then it is shown idmapped).
 * A failure after this returned shows as the process's end, STAGE_EXIT, with
 * its reason on descriptor 2.
 */
struct confined {
	enum profile profile;
	uint32_t slot;
	int exec;
	const char *const *argv; /* ends with NULL; 1,000 bytes with env */
	const char *const *env;  /* likewise; NULL: PATH, HOME, LANG */
	const int *fd;
	size_t nfd;
	int dir;
	uint64_t memory; /* bytes; 0: no limit */
};

int confined_start(struct host *, const struct confined *, struct instance *,
    struct err *);

#endif
