#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/file.h"
#include "manager/broker_call.h"
#include "store/journal.h"
#include "tests/unit/manager_fixture.h"

struct fixture t;

void
tell(void *arg, struct sandbox *sb, const struct err *err)
{
	struct told *w = arg;

	assert_false(w->done);
	w->done = true;
	w->sb = sb;
	if (sb != NULL)
		strcpy(w->id, sandbox_record(sb)->id);
	else
		w->err = *err;
}

void
start_manager(void)
{
	struct err err;

	t.journal = journal_open(t.db, &err);
	assert_non_null(t.journal);
	t.m = manager_new(&(struct manager_conf){
	    .loop = t.loop,
	    .broker = t.bc,
	    .journal = t.journal,
	    .config = t.config,
	    .dir = t.dir,
	    .generation = t.fb->generation,
	});
}

void
begin(void)
{
	struct err err;
	int fd;

	memset(&t, 0, sizeof t);
	strcpy(t.path, "/tmp/hutch-manager-XXXXXX");
	assert_non_null(mkdtemp(t.path));
	snprintf(t.db, sizeof t.db, "%s/hutch.db", t.path);
	t.dir = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.loop = loop_new();
	t.config = conf_new();
	assert_int_equal(conf_check(t.config, &err), 0);
	t.config->pool_size = 0;
	t.fb = fakebroker_new(t.loop, &fd);
	fakebroker_image(t.fb, conf_type_find(t.config, "base")->image, 'a');
	t.bc = broker_call_new(t.loop, fd);
}

static void
stop_manager(void)
{
	manager_free(t.m);
	t.m = NULL;
	drive_for(t.loop, 1); /* calls that ended with it */
	journal_close(t.journal);
	broker_call_free(t.bc);
}

/* The front is killed, and another one started. */
void
restart_front(void)
{
	int fd;

	stop_manager();
	fakebroker_relink(t.fb, &fd);
	t.bc = broker_call_new(t.loop, fd);
	start_manager();
}

/* All of hutch is: nothing lives, and generations begin anew. */
void
restart_daemon(void)
{
	int fd;

	stop_manager();
	fakebroker_free(t.fb);
	t.fb = fakebroker_new(t.loop, &fd);
	fakebroker_image(t.fb, conf_type_find(t.config, "base")->image, 'a');
	t.bc = broker_call_new(t.loop, fd);
	start_manager();
}

void
end(void)
{
	struct err err;

	stop_manager();
	fakebroker_free(t.fb);
	loop_free(t.loop);
	conf_free(t.config);
	close(t.dir);
	assert_int_equal(file_remove_tree(AT_FDCWD, t.path, &err), 0);
}

json_t *
session_meta(const char *session)
{
	return json_pack("{s:s}", "session_ctx_id", session);
}

/* Tenant 0, type base. */
struct wait *
create(struct told *w, const char *session)
{
	json_t *meta = session != NULL ? session_meta(session) : NULL;
	struct create c = { .type = "base", .meta = meta, .pooled = true };
	struct wait *wait = manager_create(t.m, &c, tell, w, &w->err);

	json_decref(meta);
	return wait;
}

void
create_ok(struct told *w, const char *session)
{
	memset(w, 0, sizeof *w);
	assert_non_null(create(w, session));
	assert_true(drive_flag(t.loop, &w->done));
	assert_non_null(w->sb);
}

struct wait *
ready(struct told *w, const char *identity)
{
	memset(w, 0, sizeof *w);
	return manager_ready(t.m, 0, identity, false, tell, w, &w->err);
}

void
ready_ok(struct told *w, const char *identity)
{
	assert_non_null(ready(w, identity));
	assert_true(drive_flag(t.loop, &w->done));
	assert_non_null(w->sb);
}

enum record_state
state_of(const char *id)
{
	struct sandbox *sb = manager_find(t.m, -1, id, false);

	assert_non_null(sb);
	return sandbox_record(sb)->state;
}

/* ---- calls ---- */

static void
said_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct said *s = arg;

	(void)stream;
	str_add(&s->out, bytes, n);
	guest_took(s->call, n);
}

static void
said_done(void *arg, const struct guest_done *d)
{
	struct said *s = arg;

	s->done = true;
	s->failed = d->err != NULL;
	if (d->err != NULL)
		s->err = *d->err;
}

static const struct guest_sink said_sink = { .output = said_output,
	.done = said_done };

void
start_shell(struct sandbox *sb, const char *command, struct said *s)
{
	struct guest_arg arg[] = {
		{ .name = "command",
		    .type = ARG_TEXT,
		    .text = command,
		    .len = strlen(command) },
		{ .name = NULL },
	};
	struct guest_request q = { .tool = "run_shell_command",
		.arg = arg,
		.sink = &said_sink,
		.sink_arg = s };

	assert_non_null(sandbox_guest(sb));
	s->call = guest_call(sandbox_guest(sb), &q, &s->err);
	assert_non_null(s->call);
}

/* Runs it and compares what it printed. */
void
shell(struct sandbox *sb, const char *command, const char *want)
{
	struct said s = { 0 };

	start_shell(sb, command, &s);
	assert_true(drive_flag(t.loop, &s.done));
	assert_false(s.failed);
	assert_string_equal(str_text(&s.out), want);
	str_free(&s.out);
}

/* ---- waiting for a state ---- */

struct until {
	const char *id;
	enum record_state state;
};

static bool
is_in_state(void *arg)
{
	const struct until *u = arg;
	struct sandbox *sb = manager_find(t.m, -1, u->id, false);

	return sb != NULL && sandbox_record(sb)->state == u->state;
}

void
until_state(const char *id, enum record_state state)
{
	struct until u = { id, state };

	assert_true(drive(t.loop, is_in_state, &u, 8000));
}

static bool
has_count(void *arg)
{
	return fakebroker_count(t.fb) == *(unsigned *)arg;
}

void
until_count(unsigned n)
{
	assert_true(drive(t.loop, has_count, &n, 8000));
}
