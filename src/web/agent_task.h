/*
 * agent_task: runs in the background, asked for by their id.
 *
 * A task is a run whose reader comes back for its last event.  Each tenant has
 * a bounded number of them; the oldest that are over go first.  Results are
 * kept in the services' database; what goes on when the daemon ends is over.
 */
#ifndef WEB_AGENT_TASK_H
#define WEB_AGENT_TASK_H

#include <jansson.h>

struct agent_tasks;
struct app;
struct deployment;
struct http_req;
struct run;
struct task_row;

struct agent_tasks *agent_tasks_new(struct app *);
void agent_tasks_free(struct agent_tasks *); /* the runs go on */

/* POST {native}/task and GET {native}/task/ID */
int agent_task_submit(struct http_req *, struct deployment *);
int agent_task_status(struct http_req *, struct deployment *, const char *id);

/*
 * For other kinds of tasks (those of an agent's own code): one that is over,
 * or one that goes on; NULL: this is refused, and it has been replied.
 */
struct agent_task;
struct agent_task *agent_task_begin(struct http_req *, struct deployment *,
    const char *queue);
const char *agent_task_id(const struct agent_task *);
void agent_task_started(struct agent_task *);
/* state: "finished" or "error"; result: JSON.  It is gone then. */
void agent_task_end(struct agent_task *, const char *state, const char *result);

#endif
