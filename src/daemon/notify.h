/*
 * notify: tells the service manager how we are, if there is one.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

/* "READY=1", "STOPPING=1", "RELOADING=1" (gets its time stamp added). */
void notify_say(const char *state);

#endif
