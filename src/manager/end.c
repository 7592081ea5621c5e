#include <string.h>
#include <sys/wait.h>
#include "base/log.h"
#include "manager/inner.h"

void
sandbox_exit_reason(struct sandbox *sb, const struct broker_exited *e)
{
	if (e->end == BROKER_END_MEMORY)
		snprintf(sb->end, sizeof sb->end, "out of memory");
	else if (e->end == BROKER_END_STOP)
		snprintf(sb->end, sizeof sb->end, "stopped");
	else if (WIFSIGNALED(e->status))
		snprintf(sb->end, sizeof sb->end, "killed by signal %d",
		    WTERMSIG(e->status));
	else
		snprintf(sb->end, sizeof sb->end, "exit status %d",
		    WEXITSTATUS(e->status));
}

/* What was wanted is the reason, where it was; else whoever knows best. */
const char *
sandbox_cause(const struct sandbox *sb)
{
	if (sb->rec.state == REC_RELEASED || sb->rec.state == REC_RECYCLED)
		return sb->rec.reason;
	if (sb->end[0] != '\0' && strcmp(sb->end, "stopped") != 0)
		return sb->end;
	if (sb->why.text[0] != '\0')
		return sb->why.text;
	return sb->end[0] != '\0' || sb->stopped ? "stopped" : "it ended";
}

/* It never came up: whoever waits hears why, and nothing is left of it. */
static void
failed(struct sandbox *sb)
{
	struct err why = sb->why;

	if (why.text[0] == '\0' || sb->end[0] != '\0')
		err_set(&why, ERR_BUSY, "the sandbox did not start: %s",
		    sandbox_cause(sb));
	if (sb->replaces != NULL && why.code == ERR_MISSING)
		why.code = ERR_BUSY; /* its id is well known */
	sb->m->counts.failed++;
	log_err(LOG_WARN, &why, "creation failed", "sandbox", sb->rec.id, "key",
	    sb->hex, "type", sb->rec.type, NULL);
	waits_tell(sb, WAIT_READY, &why);
	waits_tell(sb, WAIT_STOPPED, &why);
	if (sb->replaces != NULL)
		restore_failed(sb);
	if (sb->ever) { /* a start of what had been stopped */
		sb->stopped = true;
		sandbox_save(sb);
		return;
	}
	pool_failed(sb);
	sandbox_discard(sb);
}

static void
died(struct sandbox *sb)
{
	const char *reason = sandbox_cause(sb);
	struct err why;

	sb->m->counts.died++;
	sb->found = false;
	err_set(&why, ERR_BUSY, "the sandbox has ended: %s", reason);
	waits_tell(sb, WAIT_READY, &why);
	waits_tell(sb, WAIT_PAUSE, &why);
	waits_tell(sb, WAIT_STOPPED, &why);
	if (sb->rec.state == REC_WARM) {
		sandbox_discard(sb);
		return;
	}
	sandbox_state(sb, REC_ERROR, reason);
}

static void
ended_live(struct sandbox *sb)
{
	if (sb->up || sb->found)
		died(sb);
	else
		failed(sb);
}

static void
ended_release(struct sandbox *sb)
{
	(void)sb; /* all was said when it was released */
}

static void
ended_recycle(struct sandbox *sb)
{
	/* All was said when its workspace was saved, if it was. */
	if (sb->rec.state == REC_RUNNING)
		died(sb);
}

static void
ended_stop(struct sandbox *sb)
{
	struct err why;

	if (!sb->stopped) {
		died(sb);
		return;
	}
	err_set(&why, ERR_BUSY, "the sandbox is stopped");
	waits_tell(sb, WAIT_READY, &why);
	waits_tell(sb, WAIT_STOPPED, NULL);
}

static void (*const ends[])(struct sandbox *) = {
	[GOAL_LIVE] = ended_live,
	[GOAL_RELEASE] = ended_release,
	[GOAL_RECYCLE] = ended_recycle,
	[GOAL_STOP] = ended_stop,
};

void
sandbox_ended(struct sandbox *sb)
{
	struct manager *m = sb->m;

	log_say(LOG_NOTE, "sandbox ended", "sandbox", sb->rec.id, "key",
	    sb->hex, "reason", sandbox_cause(sb), NULL);
	sandbox_pin(sb);
	ends[sb->goal](sb);
	waits_tell(sb, WAIT_GONE, NULL);
	sandbox_unpin(sb);
	drain_check(m);
}
