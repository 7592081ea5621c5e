/* What stands below the native door's path: tasks, and runs that are kept. */
#include <stdbool.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/agent_task.h"
#include "web/http.h"
#include "web/kept.h"

static int
submit(struct http_req *q, struct deployment *d, const char *rest)
{
	(void)rest;
	return agent_task_submit(q, d);
}

static const struct {
	const char *tail; /* with a '/' at its end: a name follows */
	enum http_method method;
	int (*door)(struct http_req *, struct deployment *, const char *);
} below[] = {
	{ "/task", HTTP_POST, submit },
	{ "/task/", HTTP_GET, agent_task_status },
	{ "/runs/", HTTP_GET, kept_read },
};

bool
agent_below(struct http_req *q, struct deployment *d, const char *tail)
{
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		size_t n = strlen(below[i].tail);
		bool named = below[i].tail[n - 1] == '/';

		if (strncmp(tail, below[i].tail, n) != 0 ||
		    (named ? tail[n] == '\0' || strchr(tail + n, '/') != NULL
			   : tail[n] != '\0'))
			continue;
		if (http_req_method(q) == below[i].method) {
			below[i].door(q, d, tail + n);
			return true;
		}
		http_reply_header(q, "allow",
		    http_method_name(below[i].method));
		http_reply_detail(q, 405, "Method Not Allowed");
		return true;
	}
	return false;
}

int
agent_none(struct http_req *q)
{
	auto_str struct str names = { 0 };
	struct route_names unused;
	struct err err = { 0 };
	unsigned allow = 0;

	/* The last two rows are those that have led here. */
	route_find(agent_routes, nagent_routes - 2, http_req_method(q),
	    http_req_path(q), &unused, &allow, &err);
	if (err.code != ERR_DENIED || allow == 0)
		return agent_unknown(q);
	for (int m = 0; m < HTTP_METHODS; m++)
		if (allow & 1u << m)
			str_printf(&names, "%s%s", names.len > 0 ? ", " : "",
			    http_method_name((enum http_method)m));
	http_reply_header(q, "allow", str_text(&names));
	http_reply_detail(q, 405, "Method Not Allowed");
	return 0;
}
