/*
 * hutch-front: what strangers talk to.
 *
 * Started by the broker, confined, with the link as descriptor 3.  Asks for its
 * listeners, its configuration and its own directory, and serves until it is
 * told to leave or the broker is gone.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "engine/builtin.h"
#include "engine/engine.h"
#include "engine/model_client.h"
#include "engine/push.h"

#include "engine/services.h"
#include "engine/trace.h"
#include "manager/broker_call.h"
#include "manager/manager.h"
#include "store/journal.h"
#include "web/a2a_desk.h"
#include "web/agent_routes.h"
#include "web/agent_task.h"
#include "web/app.h"
#include "web/auth.h"
#include "web/http.h"
#include "web/mcp_desk.h"
#include "web/kept.h"
#include "web/lease.h"
#include "web/routes.h"
#include "web/shelf.h"
#include "web/trail.h"
#include "wire/link.h"
#include "wire/loop.h"

#define FD_LINK 3
#define STATE "/state"
#define LOOK_MS 50   /* how often a drain looks whether all is said */
#define LAST_MS 1500 /* what is left of drain_timeout for the last words */

enum { TCP, NATIVE, CONFIG, DIR, AGENTS, HELLO_FDS };
enum { SERVERS = 3 }; /* TCP, UNIX, agents */

struct front {
	struct loop *loop;
	struct config *config;
	struct app app;
	struct http_server *server[SERVERS];
	struct watch *term, *look;
	struct model_client *models;
	struct pushes *pushes;
	struct tracer *tracer;
	char *state, *agents_url;
	int dir;
	int64_t until; /* end of this part of the drain ... */
	int64_t end;   /* ... and of all of it */
	bool draining, settled;
};

static void
die(const struct err *err, const char *what)
{
	log_err(LOG_ERROR, err, what, NULL);
	exit(1);
}

/* ---- the end ---- */

static void
settled(void *arg)
{
	struct front *f = arg;

	f->settled = true;
}

static unsigned
busy(const struct front *f)
{
	unsigned n = 0;

	for (int i = 0; i < SERVERS; i++)
		if (f->server[i] != NULL)
			n += http_server_busy(f->server[i]);
	return n;
}

/* First the requests, then the sandboxes, then what the latter said last. */
static void
look(void *arg, int what)
{
	struct front *f = arg;
	bool late = clock_ms() >= f->until;

	(void)what;
	if (f->draining && (busy(f) == 0 || late)) {
		f->draining = false;
		f->until = clock_ms() + LAST_MS;
		if (f->until < f->end) /* saving workspaces takes a while */
			f->until = f->end;
		manager_drain(f->app.manager, settled, f);
	} else if (!f->draining && (late || (f->settled && busy(f) == 0))) {
		loop_stop(f->loop);
		return;
	}
	watch_arm(f->look, LOOK_MS);
}

/* Their readers have been told; what the requests do then is theirs. */
static void
agents_drained(void *arg)
{
	(void)arg;
	log_say(LOG_INFO, "agents have left", NULL);
}

static void
drain(void *arg)
{
	struct front *f = arg;
	int64_t ms = (int64_t)f->config->drain_timeout * 1000 - LAST_MS;

	if (f->look != NULL)
		return;
	log_say(LOG_INFO, "leaving", NULL);
	for (int i = 0; i < SERVERS; i++)
		http_server_drain(f->server[i]);
	f->draining = true;
	f->until = clock_ms() + (ms > 0 ? ms : 0);
	f->end = clock_ms() + (int64_t)f->config->drain_timeout * 1000;
	mcp_desk_drain(f->app.mcp);
	engine_drain(f->app.engine, f->until, agents_drained, f);
	f->look = watch_timer(f->loop, look, f);
	watch_arm(f->look, 1);
}

static void
on_term(void *arg, int what)
{
	(void)what;
	drain(arg);
}

static void
broker_gone(void *arg, const struct err *err)
{
	struct front *f = arg;

	if (f->look == NULL)
		die(err, "the broker is gone");
	loop_stop(f->loop);
}

/* ---- the beginning ---- */

static int
auth(void *arg, struct http_req *q, enum route_auth need, struct http_who *who,
    struct err *err)
{
	struct app *a = arg;

	return auth_check(a->auth, q, need, who, err);
}

static int
gate(void *arg, struct http_req *q, struct err *err)
{
	struct app *a = arg;

	return auth_gate(a->auth, q, err);
}

static void
headers(void *arg, struct http_req *q)
{
	struct app *a = arg;

	auth_headers(a->auth, q);
}

static struct http_server *
serve(struct front *f, int fd, bool local, bool agents)
{
	const struct config *c = f->config;
	const struct http_server_conf conf = {
		.loop = f->loop,
		.route = agents ? agent_routes : routes,
		.nroute = agents ? nagent_routes : nroutes,
		.limits = { .connections = agents ? c->agent_connections
						  : c->connections_max,
		    .head_ms = c->head_timeout * 1000,
		    .body_ms = c->body_timeout * 1000,
		    .idle_ms = c->idle_timeout * 1000,
		    .write_ms = c->body_timeout * 1000,
		    .json_max = c->json_max,
		    .out_high = APP_OUT_HIGH },
		.auth = auth,
		.gate = gate,
		.headers = headers,
		.arg = &f->app,
		.local = local,
	};
	struct http_server *s = http_server_new(&conf);

	http_server_listen(s, fd);
	return s;
}

/* http://HOST:PORT of a listener, as it turned out. */
static char *
url_of(int fd, const char *host)
{
	struct sockaddr_in6 a = { 0 }; /* sin_port lies where sin6_port does */
	socklen_t n = sizeof a;
	bool v6 = strchr(host, ':') != NULL;

	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return xstrdup("");
	return xasprintf("http://%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "",
	    ntohs(a.sin6_port));
}

/*
 * The directory that we were handed, by a name: SQLite wants one.  Confined,
 * it is mounted at STATE; elsewhere (in tests) its name is looked up.
 */
static char *
name_of(int dir)
{
	auto_free char *link = xasprintf("/proc/self/fd/%d", dir);
	struct stat named, handed;
	char path[4096];
	ssize_t n;

	if (stat(STATE, &named) == 0 && fstat(dir, &handed) == 0 &&
	    named.st_dev == handed.st_dev && named.st_ino == handed.st_ino)
		return xstrdup(STATE);
	n = readlink(link, path, sizeof path);
	return n > 0 && (size_t)n < sizeof path ? xstrndup(path, (size_t)n)
						: xstrdup(STATE);
}

static struct config *
read_config(int fd, struct err *err)
{
	struct config *c = conf_new();
	int level;

	if (conf_read_fd(c, fd, "the broker's word", err) < 0) {
		conf_free(c);
		return NULL;
	}
	level = log_level_parse(c->log_level);
	if (level >= 0)
		log_level((enum log_level)level);
	return c;
}

static void
reload(void *arg, int fd)
{
	struct front *f = arg;
	struct err err;
	struct config *fresh = read_config(fd, &err);

	if (fresh == NULL)
		log_err(LOG_ERROR, &err, "configuration not read", NULL);
	else
		conf_adopt(f->config, fresh);
}

/* Agents that are configuration only. */
static void
offer_builtins(struct front *f)
{
	const struct builtin_conf conf = { .loop = f->loop,
		.manager = f->app.manager,
		.models = f->models,
		.config = f->config,
		.tracer = f->tracer,
		.memory = &builtin_history,
		.memory_arg = f->app.services };

	builtin_offer(f->app.engine, &conf);
}

static void
push(void *arg, int tenant, const json_t *setting, const char *body)
{
	struct front *f = arg;

	(void)tenant;
	push_send(f->pushes, setting, body);
}

/* A2A's notifications go by hutch-model. */
static int
offer_pushes(struct front *f, struct err *err)
{
	struct a2a_desk *desk;

	f->pushes = pushes_new(f->loop, f->models);
	if (strcmp(f->config->push, "none") == 0)
		return 0;
	desk = a2a_desk_of(&f->app, err);
	if (desk == NULL)
		return -1;
	a2a_desk_push(desk, push, f);
	return 0;
}

static int
start(struct front *f, struct link_msg *m, struct err *err)
{
	struct manager_conf conf = { .loop = f->loop, .broker = f->app.broker };
	struct engine_conf agents = { .loop = f->loop };
	struct services_conf keeps = { .loop = f->loop };
	auto_free char *journal = NULL, *services = NULL;
	struct broker_hello hello;

	memcpy(&hello, m->body, sizeof hello);
	if (hello.version != BROKER_VERSION)
		return err_set(err, ERR_PROTO,
		    "the broker speaks version %u, this is %d", hello.version,
		    BROKER_VERSION);
	f->config = read_config(m->fd[CONFIG], err);
	if (f->config == NULL)
		return -1;
	f->dir = take_fd(&m->fd[DIR]);
	f->state = name_of(f->dir);
	journal = xasprintf("%s/journal.sqlite3", f->state);
	f->app.journal = journal_open(journal, err);
	if (f->app.journal == NULL)
		return -1;
	conf.config = f->app.config = f->config;
	conf.journal = f->app.journal;
	conf.dir = f->dir;
	conf.generation = f->app.generation = hello.generation;
	f->app.manager = manager_new(&conf);
	f->app.auth = auth_new(f->config);
	f->app.state = f->state;
	agents.manager = f->app.manager;
	agents.journal = f->app.journal;
	agents.config = f->config;
	agents.dir = f->dir;
	services = xasprintf("%s/services.sqlite3", f->state);
	keeps.manager = f->app.manager;
	keeps.config = f->config;
	keeps.path = services;
	f->app.services = services_new(&keeps, err);
	if (f->app.services == NULL)
		return -1;
	agents.services = f->app.services;
	f->app.tasks = agent_tasks_new(&f->app);
	f->app.kept = kept_new(&f->app);
	f->models = model_client_new(f->loop, f->app.broker);
	if (*f->config->otlp_endpoint != '\0')
		f->tracer =
		    tracer_new(f->loop, f->models, f->config->otlp_service);
	agents.tracer = f->tracer;
	f->app.engine = engine_new(&agents);
	offer_builtins(f);
	f->app.shelf = shelf_new(f->loop, f->state, err);
	if (f->app.shelf == NULL)
		return -1;
	if (offer_pushes(f, err) < 0)
		return -1;
	f->app.agents_url = f->agents_url =
	    url_of(m->fd[AGENTS], f->config->agent_host);
	f->server[0] = serve(f, take_fd(&m->fd[TCP]), false, false);
	f->server[1] = serve(f, take_fd(&m->fd[NATIVE]), true, false);
	f->server[2] = serve(f, take_fd(&m->fd[AGENTS]), false, true);
	return 0;
}

static void
told(void *arg, struct link_msg *m, const struct err *err)
{
	struct front *f = arg;
	struct err why;

	if (m == NULL)
		die(err, "no listeners");
	if (start(f, m, &why) < 0)
		die(&why, "not started");
	broker_call_on_drain(f->app.broker, drain, f);
	broker_call_on_reload(f->app.broker, reload, f);
	f->term = watch_signal(f->loop, SIGTERM, on_term, f);
	log_say(LOG_INFO, "serving", NULL);
}

/* Requests first: what they wait for is the manager's and the broker's. */
static void
put_away(struct front *f)
{
	for (int i = 0; i < SERVERS; i++)
		http_server_free(f->server[i]);
	leases_free(f->app.leases);
	agent_tasks_free(f->app.tasks);
	kept_free(f->app.kept);
	engine_free(f->app.engine);
	tracer_free(f->tracer);
	pushes_free(f->pushes);
	model_client_free(f->models);

	services_free(f->app.services);
	shelf_free(f->app.shelf);
	a2a_desk_free(f->app.a2a);
	mcp_desk_free(f->app.mcp);
	manager_free(f->app.manager);
	journal_close(f->app.journal);
	broker_call_free(f->app.broker);
	auth_free(f->app.auth);
	trails_free(f->app.trails);
	watch_free(f->term);
	watch_free(f->look);
	conf_free(f->config);
	close(f->dir);
	free(f->state);
	free(f->agents_url);
	loop_free(f->loop);
}

int
main(void)
{
	struct front f = { .dir = -1 };

	log_start("hutch-front", LOG_INFO);
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a terminal's goes to the broker */
	f.loop = loop_new();
	f.app.loop = f.loop;
	f.app.started_ms = clock_ms();
	f.app.route = routes;
	f.app.nroute = nroutes;
	f.app.trails = trails_new();
	f.app.leases = leases_new(&f.app);
	f.app.broker = broker_call_new(f.loop, FD_LINK);
	broker_call_on_gone(f.app.broker, broker_gone, &f);
	broker_listeners(f.app.broker, told, &f);
	loop_run(f.loop);
	put_away(&f);
	log_say(LOG_INFO, "left", NULL);
	return 0;
}
