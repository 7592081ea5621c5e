/*
 * service: the database of what agents keep: state, history, memory, tasks.
 *
 * One file; state.c, history.c, memory.c and tasks.c are its modules.  Rows
 * belong to a tenant, an agent and (but for tasks) a user; nobody sees
 * another's.  What a tenant has in bytes is added up by the schema itself.
 */
#ifndef STORE_SERVICE_H
#define STORE_SERVICE_H

#include <stdint.h>

struct db;
struct db_set;
struct err;

/* Whose: texts, never NULL.  session is "" where it does not matter. */
struct service_key {
	const char *tenant, *agent, *user, *session;
};

/* path ":memory:" for one that is not kept. */
struct db *service_open(const char *path, struct err *);
/* Bytes that the tenant has; -1: err. */
struct db_set *service_sums(struct db *, struct err *);
int64_t service_bytes(struct db_set *, const char *tenant, struct err *);

#endif
