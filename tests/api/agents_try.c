/*
 * agents_try: the doors of the agents' listener before an engine of paper.
 *
 *	agents_try [-s OPTION=VALUE]... [-d DIR] [-w] [-p]
 *
 * Prints "port N", serves until SIGTERM.  DIR is the front's own directory;
 * -p: push notifications are printed, as "push URL BODY".
 * -w: no echo is the end of an A2A task.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "engine/services.h"
#include "tests/lib/paperagent.h"
#include "web/a2a_desk.h"
#include "web/agent_routes.h"
#include "web/agent_task.h"
#include "web/app.h"
#include "web/auth.h"
#include "web/http.h"
#include "web/mcp_desk.h"
#include "web/kept.h"
#include "web/shelf.h"
#include "wire/loop.h"

static int
check(void *arg, struct http_req *req, enum route_auth need,
    struct http_who *out, struct err *err)
{
	return auth_check(((struct app *)arg)->auth, req, need, out, err);
}

static int
gate(void *arg, struct http_req *req, struct err *err)
{
	return auth_gate(((struct app *)arg)->auth, req, err);
}

static void
headers(void *arg, struct http_req *req)
{
	auth_headers(((struct app *)arg)->auth, req);
}

static int
listen_tcp(struct str *url)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof in) < 0 ||
	    listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0) {
		perror("listen");
		exit(1);
	}
	str_printf(url, "http://127.0.0.1:%u", ntohs(in.sin_port));
	printf("port %u\n", ntohs(in.sin_port));
	fflush(stdout);
	return fd;
}

/* What would be delivered, a line each. */
static void
push(void *unused, int tenant, const json_t *setting, const char *body)
{
	(void)unused;
	(void)tenant;
	printf("push %s %s\n",
	    json_string_value(json_object_get(json_object_get(setting,
						  "pushNotificationConfig"),
		"url")),
	    body);
	fflush(stdout);
}

static void
stop(void *arg, int sig)
{
	(void)sig;
	loop_stop(arg);
}

/* OPTION=VALUE, or "tenant NAME/OPTION=VALUE". */
static void
set(struct config *conf, char *text)
{
	char *value = strchr(text, '='), *slash;
	const char *section = "";
	struct err err;

	if (value == NULL)
		exit(2);
	*value++ = '\0';
	if ((slash = strchr(text, '/')) != NULL) {
		section = text;
		*slash = '\0';
		text = slash + 1;
	}
	if (conf_set(conf, section, text, value, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
}

static void
put_away(struct app *app)
{
	agent_tasks_free(app->tasks);
	kept_free(app->kept);
	services_free(app->services);
	paper_engine_free(app->engine);
	shelf_free(app->shelf);
	a2a_desk_free(app->a2a);
	mcp_desk_free(app->mcp);
	auth_free(app->auth);
}

int
main(int argc, char **argv)
{
	struct config *conf = conf_new();
	struct loop *loop = loop_new();
	struct app app = { .loop = loop,
		.config = conf,
		.state = "/nonexistent",
		.route = agent_routes,
		.nroute = nagent_routes,
		.started_ms = clock_ms() };
	struct http_server_conf c = { .loop = loop,
		.route = agent_routes,
		.nroute = nagent_routes,
		.auth = check,
		.gate = gate,
		.headers = headers,
		.arg = &app,
		.limits = { 20000, 10000, 30000, 75000, 30000, 1 << 24,
		    APP_OUT_HIGH } };
	auto_str struct str url = { 0 };
	struct http_server *server;
	struct watch *term;
	const char *dir = NULL;
	struct services_conf keeps = { .loop = loop, .config = conf };
	auto_free char *db = NULL;
	struct err err;
	bool goes_on = false, pushes = false;
	int opt;

	while ((opt = getopt(argc, argv, "s:d:wp")) != -1) {
		if (opt == 's')
			set(conf, optarg);
		else if (opt == 'd')
			app.state = dir = optarg;
		else if (opt == 'w')
			goes_on = true;
		else if (opt == 'p')
			pushes = true;
		else
			return 2;
	}
	if (conf_check(conf, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	app.auth = auth_new(conf);
	app.engine = paper_engine(loop);
	keeps.path = db = dir != NULL
	    ? xasprintf("%s/services.sqlite3", app.state)
	    : xstrdup(":memory:");
	app.services = services_new(&keeps, &err);
	if (app.services == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	app.tasks = agent_tasks_new(&app);
	app.kept = kept_new(&app);
	if (goes_on)
		paper_engine_goes_on(app.engine);
	app.shelf = shelf_new(loop, dir, &err);
	if (app.shelf == NULL)
		fprintf(stderr, "%s\n", err.text);
	if (pushes)
		a2a_desk_push(a2a_desk_of(&app, &err), push, NULL);
	server = http_server_new(&c);
	http_server_listen(server, listen_tcp(&url));
	app.agents_url = str_text(&url);
	term = watch_signal(loop, SIGTERM, stop, loop);
	loop_run(loop);
	http_server_free(server);
	put_away(&app);
	watch_free(term);
	loop_free(loop);
	conf_free(conf);
	return 0;
}
