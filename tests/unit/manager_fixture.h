/*
 * manager_fixture: a manager with a fake broker under it.
 *
 * For the tests of the manager, which are one program each.
 */
#ifndef TESTS_UNIT_MANAGER_FIXTURE_H
#define TESTS_UNIT_MANAGER_FIXTURE_H

#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "manager/manager.h"
#include "tests/lib/drive.h"
#include "tests/lib/fakeagent.h"
#include "tests/lib/fakebroker.h"

struct broker_call;
struct journal;

extern struct fixture {
	struct loop *loop;
	struct fakebroker *fb;
	struct broker_call *bc;
	struct config *config;
	struct journal *journal;
	struct manager *m;
	char path[64], db[96];
	int dir;
} t;

/* One answer that was waited for. */
struct told {
	bool done;
	struct sandbox *sb;
	struct err err;
	char id[64];
};

/* What a call printed. */
struct said {
	struct guest_call *call;
	struct str out;
	bool done, failed;
	struct err err;
};

void begin(void); /* then change t.config, and start_manager() */
void start_manager(void);
void restart_front(void);  /* it is killed, and another one started */
void restart_daemon(void); /* nothing lives, generations begin anew */
void end(void);

void tell(void *told, struct sandbox *, const struct err *);
json_t *session_meta(const char *session);
/* Tenant 0, type base, from the pool if there is one. */
struct wait *create(struct told *, const char *session);
void create_ok(struct told *, const char *session);
struct wait *ready(struct told *, const char *identity);
void ready_ok(struct told *, const char *identity);

enum record_state state_of(const char *id);
void until_state(const char *id, enum record_state);
void until_count(unsigned live);

void start_shell(struct sandbox *, const char *command, struct said *);
/* Runs it and compares what it printed. */
void shell(struct sandbox *, const char *command, const char *want);

#endif
