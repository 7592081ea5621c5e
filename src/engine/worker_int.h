/*
 * worker_int: what the files of a worker share.
 *
 *	worker		its life, and what it is asked
 *	worker_line	what it says
 */
#ifndef ENGINE_WORKER_INT_H
#define ENGINE_WORKER_INT_H

#include <sys/queue.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/worker.h"

#define WORKER_PROTOCOL 1
#define BUCKETS 256

struct watch;

enum worker_state { STARTING, READY, GOING, DYING };

struct task {
	TAILQ_ENTRY(task) in_bucket, all;
	TAILQ_ENTRY(task) in_canceled;
	struct worker *w;
	uint64_t number;
	const struct task_ops *ops; /* NULL: canceled */
	void *arg;
	int tenant; /* for whom */
	bool paused;
	size_t flood;
	int64_t end_by; /* canceled: clock_ms() */
};
TAILQ_HEAD(tasks, task);

struct worker {
	struct worker_conf conf;
	struct box *box;
	enum worker_state state;
	bool ready_once, leaving, killed;
	struct tasks all, bucket[BUCKETS], canceled;
	unsigned ntask;
	uint64_t last; /* number given */
	struct str in, scratch, out;
	size_t out_at;
	unsigned bad;
	struct watch *timer; /* init, or leaving */
	struct watch *cancel_timer;
	struct ring_writer *stderr_log;
	char label[24];
	int64_t started_ms;
	struct err why;
};

/* worker.c */
void worker_die(struct worker *, const struct err *why); /* soon; once */
struct task *worker_task(struct worker *, uint64_t number);
void task_over(struct task *);

/* worker_line.c */
void worker_bytes(struct worker *, const char *, size_t n);

#endif
