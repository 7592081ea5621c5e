/*
 * job: one import or export, and the confined process that does it.
 *
 * The process gets its link as descriptor 3, the end of a pipe for the tar as
 * 4 and the end of a pipe for its lines as 5.  It is over when its pidfd says
 * so: then its staging directory goes to the trash.
 */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "isolator/backend.h"

struct broker;
struct err;
struct link_msg;
struct peer;
struct watch;

#define JOBS_MOST 4

struct job {
	struct broker *of;
	char name[256];
	bool export;
	char staging_name[33];
	int staging; /* its directory, ours */
	int tree;    /* export: merged layers */
	int tar;     /* the process's end, until it has started */
	struct instance instance;
	struct peer *peer;
	struct watch *end, *deadline;
	uint32_t waiting; /* STORE's call number, if it has to wait */
	TAILQ_ENTRY(job) next;
};

/*
 * Starts one; the caller's two ends: of the tar (write end of an import, read
 * end of an export) and of the lines.
 */
int job_start(struct broker *, const char *name, bool export, int ends[2],
    struct err *);
void job_kill(struct job *); /* its end follows */
void jobs_kill(struct broker *);
/*
 * What STORE answers.  SERVE_LATER while an older import of the same name goes
 * on: two at once do the work once.
 */
int job_store(struct job *, uint32_t call, struct link_msg *reply,
    struct err *);

#endif
