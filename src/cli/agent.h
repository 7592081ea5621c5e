/*
 * agent: what the commands about agents share.
 */
#ifndef CLI_AGENT_H
#define CLI_AGENT_H

#include <jansson.h>
#include <stdbool.h>

struct cli;
struct err;

/* An agent as the command line describes it. */
struct agent_source {
	char *name;
	char *path;      /* its code: a file or a folder; NULL: none */
	json_t *options; /* for the daemon */
};

/* argument: FILE, DIR, CONFIG.json or NULL; command: after --, or NULL. */
int agent_source(struct cli *, const char *argument, char **command,
    struct agent_source *, struct err *);
void agent_source_free(struct agent_source *);
/* Sends it, shows what goes on, waits until it is ready.  *status: yours. */
int agent_deploy(struct cli *, const struct agent_source *, json_t **status,
    struct err *);
/* Percent-encoded "agents/NAME" and what follows; yours. */
char *agent_path(const char *name, const char *more);
int agent_remove(struct cli *, const char *name, struct err *);

/* While one of these is in hand, an interrupt sets the flag. */
void agent_catch(bool on);
bool agent_stopped(void *unused);
void agent_go_on(void);

#endif
