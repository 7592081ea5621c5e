/*
 * journal: what the front knows of its sandboxes, on disk.
 *
 * SQLite: one writer, WAL, synchronous=NORMAL (a power cut may take the last
 * moments, never the consistency).  user_version is the schema's version;
 * migrations go forward only, and a file of a later version is refused.
 * Knows rows, not what they mean.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct journal;

#define JOURNAL_KEY 16

struct journal_row {
	/* texts: never NULL when read; NULL is written as "" */
	const char *id, *session_id, *container_id, *token, *version, *type;
	const char *session, *redirect, *reason, *mount_dir, *storage;
	const char *tenant, *state, *meta;   /* meta: JSON */
	const char *image, *dir, *env, *net; /* env: JSON array */
	uint8_t key[JOURNAL_KEY]; /* of the life it has or had last */
	int64_t paused, stopped, saved;
	double created_at, last_active_at, recycled_at, released_at, updated_at;
};

/* Made if missing.  path: a file; its -wal and -shm lie beside it. */
struct journal *journal_open(const char *path, struct err *);
void journal_close(struct journal *);
int journal_put(struct journal *, const struct journal_row *, struct err *);
/* Only this, of a row that is there: it happens often, and meta may be large. */
int journal_touch(struct journal *, const char *id, double last_active_at,
    struct err *);
int journal_delete(struct journal *, const char *id, struct err *);
/* All that is put between these is written at once. */
int journal_begin(struct journal *, struct err *);
int journal_end(struct journal *, struct err *);
/* In order of creation.  fn must not write. */
int journal_each(struct journal *,
    void (*fn)(void *arg, const struct journal_row *), void *arg, struct err *);
/* An agent that is offered.  In order of their first deployment. */
struct journal_agent {
	/* spec: JSON; code, deps: files */
	const char *name, *spec, *code, *deps, *tenant;
	double created_at, updated_at;
};
int journal_agent_put(struct journal *, const struct journal_agent *,
    struct err *);
int journal_agent_delete(struct journal *, const char *name, struct err *);
int journal_agent_each(struct journal *,
    void (*fn)(void *arg, const struct journal_agent *), void *arg,
    struct err *);
/* A consistent copy, while work goes on; the file must not exist. */
int journal_backup(struct journal *, const char *path, struct err *);
int journal_version(const struct journal *);

#endif
