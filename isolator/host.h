/*
 * host: what the back end makes once and keeps. Its insides, for backend_ns
 * and confined; everyone else sees backend.h.
 */
#ifndef ISOLATOR_HOST_H
#define ISOLATOR_HOST_H

#include "isolator/backend.h"
#include "isolator/ns.h"
#include "isolator/seccomp.h"
#include "isolator/spec.h"

struct idmap;
struct nest;
struct roots;
struct spec;

_Static_assert(SPEC_GROUPS == CGROUP_TREES, "a door each");

struct host {
	struct ns *ns;
	struct nest *nest;
	struct idmap *idmap;
	struct roots *roots;
	struct cgroups *cgroups;
	unsigned require;
	uid_t owner;
	unsigned serial;  /* of our own processes: their cgroups' names */
	unsigned exec_at; /* see filter_make */
	struct filter filter[PROFILES];
};

/*
 * A child that runs the agent's image and waits for its spec: with a cgroup
 * and namespaces, without a root.  It fits any sandbox of its slot.
 */
struct blank {
	struct ns_born born;
	struct cgroup cgroup;
	int dev, sys;           /* its copies of the templates */
	int upper, work;        /* to be written to; -1: not made yet */
	struct box_sizes sizes; /* theirs */
	struct cgroup_limits limits;
};

int blank_start(struct host *, const struct blank_want *, struct blank *,
    struct err *);
/* Its groups and its limits (NULL: none yet); before its spec or behind it. */
int blank_enter(struct host *, struct blank *, const struct cgroup_limits *,
    struct err *);
void blank_drop(struct host *, struct blank *); /* kills it, too */
/* Once it has its spec: what is left of it becomes the instance's. */
void blank_take(struct blank *, struct host *, struct instance *);

#endif
