/*
 * trash: removing large trees without making the broker wait.
 *
 * Throwing away is a rename; a process of its own empties the directory.
 */
#ifndef DAEMON_TRASH_H
#define DAEMON_TRASH_H

struct err;
struct loop;
struct trash;

/* dir/name goes to the trash directory, under a fresh name. */
int trash_add(int trash, int dir, const char *name, struct err *);
/* Every entry of dir. */
void trash_add_all(int trash, int dir);

struct trash *trash_new(struct loop *, int dir);
/* Both accept NULL: then nothing is removed until the next start. */
void trash_free(struct trash *); /* what is not removed yet waits */
/* Starts the process, or has it look again. */
void trash_empty(struct trash *);

#endif
