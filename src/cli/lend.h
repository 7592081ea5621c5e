/*
 * lend: a directory of ours for a sandbox to have as its root.
 *
 * Only the broker may mount, and only root may lend: the directory goes by
 * descriptor over a socket that only root can open, and comes back as a handle
 * for one creation.  No path is said to anyone.
 */
#ifndef CLI_LEND_H
#define CLI_LEND_H

#define LEND_HANDLE 64 /* bytes of "#handle", with its NUL */

struct cli;
struct err;

int lend(struct cli *, const char *dir, char handle[LEND_HANDLE], struct err *);

#endif
