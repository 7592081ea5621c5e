/*
 * setup: from a configuration to a broker that is ready to run, and back.
 */
#ifndef DAEMON_SETUP_H
#define DAEMON_SETUP_H

struct broker;
struct config;
struct err;
struct loop;

/* Takes the configuration, even when it fails. */
struct broker *setup_broker(struct config *, const char *libexec, struct loop *,
    struct err *);
/* Nothing runs any more: gives back everything. */
void setup_undo(struct broker *);
/* Removes all that a daemon with this root ever made. */
int setup_reset(struct config *, const char *libexec, struct err *);

#endif
