/*
 * manager: which sandboxes exist and who holds them.
 *
 * Owns every sandbox and its record; turns what happens (a broker's reply, a
 * Hello, a deadline, an exit) into events of the life cycle (life.h).  All
 * waiting is by callback with one owner: a struct wait, cancelled with
 * manager_forget.  Knows no HTTP.  Tenants are small integers (conf's index);
 * a foreign id is answered as an unknown one.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker_usage;
struct broker_call;
struct config;
struct err;
struct guest;
struct journal;
struct loop;
struct manager;
struct sandbox;
struct wait; /* an answer that has not come yet */

/* What the wire calls a record's state (spec 1.4). */
enum record_state {
	REC_WARM,
	REC_RUNNING,
	REC_RECYCLED,
	REC_REPLACED,
	REC_ERROR,
	REC_RELEASED,
	REC_STATES
};
const char *record_state_name(enum record_state);

/* Read-only outside manager/; lives until the manager's next turn. */
struct record {
	char id[64];         /* public: prefix + 25 characters */
	char session_id[32]; /* the 25 characters */
	char container_id[65];
	char token[33];    /* runtime_token */
	char version[192]; /* image-like form of the type (spec 1.4) */
	char type[32];     /* as requested */
	char session[192]; /* session_ctx_id; "" none */
	char redirect[64]; /* when replaced; "" none */
	char reason[64];   /* recycle_reason, or why it ended; "" none */
	char mount_dir[256], storage[256]; /* "" none */
	int tenant;
	enum record_state state;
	bool paused;
	json_t *meta; /* object, owned by the record */
	double created_at, last_active_at, recycled_at, released_at, updated_at;
};
const struct record *sandbox_record(const struct sandbox *);
struct guest *sandbox_guest(const struct sandbox *); /* NULL: not ready */
const char *sandbox_key(const struct sandbox *); /* internal id, hex: logs */
/*
 * Between these the reaper leaves it alone and the pointer stays good, though
 * what it points to may end (sandbox_guest is NULL then).  Each is a touch.
 */
void sandbox_hold(struct sandbox *);
void sandbox_drop(struct sandbox *);

struct manager_conf {
	struct loop *loop;
	struct broker_call *broker;
	struct journal *journal;
	const struct config *config;
	int dir; /* the front's own directory: saved workspaces; borrowed */
	uint32_t generation;
};

struct manager *manager_new(const struct manager_conf *);
/* Stop reaping and creating; release all if auto_cleanup; then drained(arg). */
void manager_drain(struct manager *, void (*drained)(void *), void *arg);
void manager_free(struct manager *);

struct create {
	int tenant;
	const char *type; /* NULL: the first default type */
	const char
	    *image;      /* native API: any image of the store; NULL: type's */
	const char *dir; /* native API, admin: a host directory as root */
	json_t *meta;    /* object or NULL; a copy is taken */
	const char *const *env;          /* NULL-ended; may be NULL */
	const char *mount_dir, *storage; /* NULL: none asked for */
	const char *net; /* native API: none | nat; NULL: the type's */
	bool pooled;     /* may be taken from the pool */
};

/* sb NULL: err says why.  Called once, from the loop. */
typedef void manager_fn(void *arg, struct sandbox *sb, const struct err *);

/* NULL and err when refused at once; then fn is not called. */
struct wait *manager_create(struct manager *, const struct create *,
    manager_fn *, void *arg, struct err *);
/*
 * The sandbox this identity means now (session id, redirects, restore of a
 * recycled one), ready for calls.  Touches it unless peek.
 */
struct wait *manager_ready(struct manager *, int tenant, const char *identity,
    bool peek, manager_fn *, void *arg, struct err *);
/* The same for who only makes calls: they may wait for its Hello in its stream,
 * and what Hello says (guest_tool) is not known then. */
struct wait *manager_reach(struct manager *, int tenant, const char *identity,
    manager_fn *, void *arg, struct err *);
/*
 * Before a cell: have a warm interpreter set out, once a life.  NULL: nothing
 * to wait for.  fn may be told an error: the sandbox has ended.
 */
struct wait *manager_warm(struct manager *, struct sandbox *, manager_fn *,
    void *arg);
/* fn won't be called.  Work goes on, but what a create makes has no owner then
 * and is released. */
void manager_forget(struct wait *);

/* Without waiting or touching; redirects followed if so.  NULL: unknown. */
struct sandbox *manager_find(struct manager *, int tenant, const char *identity,
    bool follow);
struct sandbox *manager_next(struct manager *, int tenant, struct sandbox *);

/* 1 done or unknown, 0 failed.  Its end is not waited for. */
int manager_release(struct manager *, int tenant, const char *identity);
/* The same, and fn when nothing of it runs any more, or that takes too long: it
 * is tried on.  NULL: there is nothing to wait for. */
struct wait *manager_end(struct manager *, int tenant, const char *identity,
    manager_fn *, void *arg);
struct wait *manager_stop(struct manager *, int tenant, const char *identity,
    manager_fn *, void *arg, struct err *);
struct wait *manager_start(struct manager *, int tenant, const char *identity,
    manager_fn *, void *arg, struct err *);
/* Calls of a paused sandbox are refused (ERR_BUSY) until it is resumed. */
struct wait *manager_pause(struct manager *, struct sandbox *, bool on,
    manager_fn *, void *arg, struct err *);
/* Docker's word for spec 1.3 (6): running, exited, created; NULL unknown. */
const char *manager_status(struct manager *, int tenant, const char *identity);
void manager_cleanup(struct manager *, int tenant); /* -1: everybody's */
/* New references: arrays of text. */
json_t *manager_session(struct manager *, int tenant, const char *session);
json_t *manager_session_keys(struct manager *, int tenant);

/*
 * What sandboxes of this type and image (NULL: the type's) are made of: the
 * same 32 bytes as long as it is the same.
 */
int manager_image_id(const struct manager *, const char *type,
    const char *image, uint8_t id[32], struct err *);

typedef void usage_fn(void *arg, const struct broker_usage *,
    const struct err *);
struct wait *manager_usage(struct manager *, struct sandbox *, usage_fn *,
    void *arg, struct err *);

#define MANAGER_STEPS 10 /* of a creation: ours, then the broker's */
#define MANAGER_BUCKETS 12

struct manager_counts {
	unsigned by_state[REC_STATES];
	unsigned pool_warm, pool_making; /* of all pools, now */
	uint64_t created, failed, reaped, restored, released, died;
	/* Creations that came to be ready: how many, how long they took, how
	 * many took at most manager_bucket_ms[i], and the time of each step. */
	uint64_t creates, create_us;
	uint64_t bucket[MANAGER_BUCKETS], step_us[MANAGER_STEPS];
};
void manager_counts(const struct manager *, struct manager_counts *);
extern const unsigned manager_bucket_ms[MANAGER_BUCKETS];
const char *manager_step_name(unsigned step);

#endif
