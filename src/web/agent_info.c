/*
 * What an agent says of itself: discovery, health, and, for who may, the
 * process that serves it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "json/jtext.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"

#define MODE "daemon_thread"

/* "" at the root, "/agents/NAME" below. */
static void
put_base(struct str *out, struct http_req *q)
{
	const char *name = http_req_name(q, "agent");

	if (*name != '\0')
		str_printf(out, "/agents/%s", name);
}

static void
put_path(struct str *out, const char *key, const char *base, const char *path,
    const char *tail)
{
	auto_str struct str whole = { 0 };

	str_printf(&whole, "%s%s%s", base, path, tail);
	str_printf(out, ",\"%s\":", key);
	jtext_quote(out, whole.at, whole.len);
}

/* Without an agent at "/" there is still somebody to ask how it is. */
static struct deployment *
named(struct http_req *q, bool *fits)
{
	const char *name = http_req_name(q, "agent");
	struct deployment *d = engine_find(app_of(q)->engine, name);

	*fits = d != NULL || *name == '\0';
	if (!*fits)
		agent_unknown(q);
	return d;
}

int
agent_root(struct http_req *q, struct err *err)
{
	auto_str struct str base = { 0 };
	struct deployment *d;
	struct str out = { 0 };
	const char *path;
	bool fits;

	(void)err;
	d = named(q, &fits);
	if (!fits)
		return 0;
	put_base(&base, q);
	str_puts(&out,
	    "{\"service\":\"AgentScope Runtime\",\"mode\":\"" MODE
	    "\",\"endpoints\":{");
	if (d != NULL) {
		path = deployment_path(d);
		str_puts(&out, "\"process\":");
		jtext_quote(&out, str_text(&base), base.len);
		str_cut(&out, out.len - 1);
		str_printf(&out, "%s\"", path);
		put_path(&out, "stream", str_text(&base), path, "/stream");
		put_path(&out, "health", str_text(&base), "/health", "");
		put_path(&out, "task", str_text(&base), path, "/task");
		put_path(&out, "task_status", str_text(&base), path,
		    "/task/{task_id}");
		put_path(&out, "stop", str_text(&base), "/stop", "");
	} else
		str_puts(&out, "\"health\":\"/health\"");
	str_puts(&out, "}}");
	app_reply_json(q, 200, &out);
	return 0;
}

/* ---- health ---- */

static int
say_health(struct http_req *q, bool good, const char *words, const char *why)
{
	struct str out = { 0 };

	str_printf(&out, "{%s", words);
	if (why != NULL) {
		str_puts(&out, ",\"detail\":");
		jtext_quote_text(&out, why);
	}
	str_puts(&out, ",\"timestamp\":");
	jtext_time(&out, clock_unix());
	str_putc(&out, '}');
	app_reply_json(q, good ? 200 : 503, &out);
	return 0;
}

/*
 * Healthy is who will take a run: now, or when its worker has started.  Not
 * healthy is who can't, and says why.
 */
int
agent_health(struct http_req *q, struct err *unused)
{
	struct deployment *d;
	struct err why;
	bool fits;

	(void)unused;
	d = named(q, &fits);
	if (!fits)
		return 0;
	if (d == NULL)
		return say_health(q, true,
		    "\"status\":\"healthy\",\"mode\":\"" MODE
		    "\",\"runner\":\"not_ready\"",
		    "no agent is deployed");
	if (deployment_ready(d, &why))
		return say_health(q, true,
		    "\"status\":\"healthy\",\"mode\":\"" MODE
		    "\",\"runner\":\"ready\"",
		    NULL);
	if (why.code == ERR_BUSY)
		return say_health(q, true,
		    "\"status\":\"healthy\",\"mode\":\"" MODE
		    "\",\"runner\":\"not_ready\"",
		    why.text);
	return say_health(q, false,
	    "\"status\":\"unhealthy\",\"mode\":\"" MODE
	    "\",\"runner\":\"not_ready\"",
	    why.text);
}

int
agent_readiness(struct http_req *q, struct err *unused)
{
	struct deployment *d;
	struct err why;
	bool fits;

	(void)unused;
	d = named(q, &fits);
	if (!fits)
		return 0;
	if (d == NULL)
		err_set(&why, ERR_MISSING, "no agent is deployed");
	else if (deployment_ready(d, &why))
		return say_health(q, true, "\"status\":\"ready\"", NULL);
	return say_health(q, false, "\"status\":\"not_ready\"", why.text);
}

/* That it answers is the answer. */
int
agent_liveness(struct http_req *q, struct err *unused)
{
	bool fits;

	(void)unused;
	named(q, &fits);
	if (!fits)
		return 0;
	return say_health(q, true, "\"status\":\"alive\"", NULL);
}

/* ---- for who may ---- */

static double
cpu_used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Of one core, since the last time somebody asked. */
static double
cpu_percent(void)
{
	static double used_then;
	static int64_t asked;
	double used = cpu_used(), percent = 0;
	int64_t now = clock_ms();

	if (asked > 0 && now > asked)
		percent =
		    (used - used_then) / ((double)(now - asked) / 1e3) * 100;
	used_then = used;
	asked = now;
	return percent;
}

/* Resident now; without a /proc, the most it has been. */
static uint64_t
memory(void)
{
	unsigned long long pages;
	struct rusage u;
	FILE *f = fopen("/proc/self/statm", "re");
	int n = f != NULL ? fscanf(f, "%*u %llu", &pages) : 0;

	if (f != NULL)
		fclose(f);
	if (n == 1)
		return pages * (uint64_t)sysconf(_SC_PAGESIZE);
	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
}

int
agent_admin_status(struct http_req *q, struct err *unused)
{
	struct app *a = app_of(q);
	struct str out = { 0 };
	struct deployment *d = NULL;
	json_t *list = json_array();

	(void)unused;
	while ((d = engine_next(a->engine, d)) != NULL)
		json_array_append_new(list, deployment_status(d));
	str_printf(&out,
	    "{\"pid\":%d,\"status\":\"running\",\"memory_usage\":%llu,"
	    "\"cpu_percent\":%.1f,\"uptime\":%.3f,\"agents\":",
	    (int)getpid(), (unsigned long long)memory(), cpu_percent(),
	    (double)(clock_ms() - a->started_ms) / 1e3);
	jtext_write(&out, list);
	json_decref(list);
	str_putc(&out, '}');
	app_reply_json(q, 200, &out);
	return 0;
}

/* What it is asked to end is the agent: the daemon is its host's to stop. */
static int
shut_down(struct http_req *q, const char *key, const char *words)
{
	struct deployment *d = agent_of(q);
	struct str out = { 0 };
	struct err err;

	if (d == NULL)
		return 0;
	if (engine_remove(app_of(q)->engine, deployment_name(d), &err) < 0) {
		http_reply_detail(q, err.code == ERR_DENIED ? 403 : 500,
		    err.text);
		return 0;
	}
	app_audit(q, "agent shutdown", NULL, NULL);
	str_printf(&out, "{\"%s\":\"%s\"}", key, words);
	app_reply_json(q, 200, &out);
	return 0;
}

int
agent_shutdown(struct http_req *q, struct err *unused)
{
	(void)unused;
	return shut_down(q, "status", "shutting down");
}

int
agent_admin_shutdown(struct http_req *q, struct err *unused)
{
	(void)unused;
	return shut_down(q, "message", "Shutdown initiated");
}
