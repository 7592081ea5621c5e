/* The RPC routes over a manager and a server of paper. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "guest/schema.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/rpc.h"
#include "web/trail.h"
#include "wire/loop.h"

/* ---- a request ---- */

struct http_req {
	const char *path, *body;
	void *data;
	void (*closed)(struct http_req *);
	int status;
	struct str reply;
};

static struct app app;
static const struct http_who who = { .tenant = 3 };

void *
http_req_app(const struct http_req *q)
{
	(void)q;
	return &app;
}

const struct http_who *
http_req_who(const struct http_req *q)
{
	(void)q;
	return &who;
}

uint64_t
http_req_id(const struct http_req *q)
{
	(void)q;
	return 1;
}

bool
http_req_local(const struct http_req *q)
{
	(void)q;
	return false;
}

const char *
http_req_path(const struct http_req *q)
{
	return q->path;
}

const char *
http_req_header(const struct http_req *q, const char *name)
{
	(void)q;
	return strcmp(name, "host") == 0 ? "h:1" : NULL;
}

const uint8_t *
http_req_body(const struct http_req *q, size_t *n)
{
	*n = strlen(q->body);
	return (const uint8_t *)q->body;
}

void
http_req_set_data(struct http_req *q, void *data)
{
	q->data = data;
}

void *
http_req_data(const struct http_req *q)
{
	return q->data;
}

void
http_req_on_closed(struct http_req *q, void (*closed)(struct http_req *))
{
	q->closed = closed;
}

void
http_reply(struct http_req *q, int status, const char *type, const void *body,
    size_t n)
{
	assert_int_equal(q->status, 0); /* once */
	assert_string_equal(type, "application/json");
	q->status = status;
	str_add(&q->reply, body, n);
}

void
http_reply_detail(struct http_req *q, int status, const char *text)
{
	assert_int_equal(q->status, 0);
	q->status = status;
	str_puts(&q->reply, text);
}

/* ---- a manager that knows one sandbox, "sb" ---- */

struct sandbox {
	int unused;
};

static struct sandbox box;
static struct record rec = { .id = "sb",
	.session_id = "25",
	.container_id = "cc",
	.token = "tt",
	.version = "agentscope/runtime-sandbox-base:latest",
	.type = "base",
	.session = "s1",
	.state = REC_RUNNING,
	.last_active_at = 1.5,
	.updated_at = 2.5 };
static struct str asked; /* what the manager was asked for */

const struct record *
sandbox_record(const struct sandbox *sb)
{
	(void)sb;
	return &rec;
}

const char *
sandbox_key(const struct sandbox *sb)
{
	(void)sb;
	return "00";
}

struct guest *
sandbox_guest(const struct sandbox *sb)
{
	(void)sb;
	return NULL;
}

void
sandbox_hold(struct sandbox *sb)
{
	(void)sb;
}

void
sandbox_drop(struct sandbox *sb)
{
	(void)sb;
}

const char *
record_state_name(enum record_state s)
{
	return s == REC_RUNNING ? "running" : "other";
}

struct wait *
manager_create(struct manager *m, const struct create *c, manager_fn *fn,
    void *arg, struct err *err)
{
	(void)m;
	assert_int_equal(c->tenant, 3);
	str_printf(&asked, "%s%s", c->pooled ? "pool " : "",
	    c->type != NULL ? c->type : "-");
	if (c->mount_dir != NULL)
		str_printf(&asked, " mount %s", c->mount_dir);
	for (size_t i = 0; c->env != NULL && c->env[i] != NULL; i++)
		str_printf(&asked, " %s", c->env[i]);
	if (c->meta != NULL)
		str_printf(&asked, " meta %s",
		    json_string_value(
			json_object_get(c->meta, "session_ctx_id")));
	if (c->type != NULL && strcmp(c->type, "gui") == 0) {
		err_set(err, ERR_MISSING, "not built");
		return NULL;
	}
	fn(arg, &box, NULL);
	return (struct wait *)1;
}

struct wait *
manager_warm(struct manager *m, struct sandbox *sb, manager_fn *fn, void *arg)
{
	(void)m;
	(void)sb;
	(void)fn;
	(void)arg;
	return NULL;
}

struct wait *
manager_ready(struct manager *m, int tenant, const char *identity, bool peek,
    manager_fn *fn, void *arg, struct err *err)
{
	(void)m;
	(void)fn;
	(void)arg;
	assert_int_equal(tenant, 3);
	assert_false(peek);
	if (strcmp(identity, "gone") == 0)
		err_set(err, ERR_BUSY, "it was released");
	else
		err_set(err, ERR_MISSING, "unknown");
	return NULL;
}

void
manager_forget(struct wait *w)
{
	(void)w;
}

struct sandbox *
manager_find(struct manager *m, int tenant, const char *identity, bool follow)
{
	(void)m;
	(void)tenant;
	(void)follow;
	return strcmp(identity, "sb") == 0 || strcmp(identity, "gone") == 0
	    ? &box
	    : NULL;
}

struct wait *
manager_reach(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	return manager_ready(m, tenant, identity, false, fn, arg, err);
}

struct wait *
manager_end(struct manager *m, int tenant, const char *identity, manager_fn *fn,
    void *arg)
{
	struct err late = { .code = ERR_TIMEOUT };

	(void)m;
	(void)tenant;
	if (strcmp(identity, "stuck") != 0)
		return NULL;
	fn(arg, NULL, &late);
	return (struct wait *)1;
}

static struct wait *
refuse(struct err *err)
{
	err_set(err, ERR_MISSING, "unknown");
	return NULL;
}

struct wait *
manager_stop(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	(void)m;
	(void)tenant;
	(void)identity;
	(void)fn;
	(void)arg;
	return refuse(err);
}

struct wait *
manager_start(struct manager *m, int tenant, const char *identity,
    manager_fn *fn, void *arg, struct err *err)
{
	return manager_stop(m, tenant, identity, fn, arg, err);
}

const char *
manager_status(struct manager *m, int tenant, const char *identity)
{
	(void)m;
	(void)tenant;
	return strcmp(identity, "sb") == 0 ? "running" : NULL;
}

void
manager_cleanup(struct manager *m, int tenant)
{
	(void)m;
	assert_int_equal(tenant, 3);
	str_puts(&asked, "cleanup");
}

json_t *
manager_session(struct manager *m, int tenant, const char *session)
{
	(void)m;
	(void)tenant;
	return json_pack("[s]", session);
}

json_t *
manager_session_keys(struct manager *m, int tenant)
{
	(void)m;
	(void)tenant;
	return json_array();
}

/* ---- what is never reached without a sandbox that is ready ---- */

struct guest_call *
guest_call(struct guest *g, const struct guest_request *r, struct err *err)
{
	(void)g;
	(void)r;
	(void)err;
	abort();
}

size_t
guest_room(const struct guest_call *c)
{
	(void)c;
	return 0;
}

void
guest_input(struct guest_call *c, const void *bytes, size_t n)
{
	(void)c;
	(void)bytes;
	(void)n;
}

void
guest_input_end(struct guest_call *c)
{
	(void)c;
}

void
guest_took(struct guest_call *c, size_t n)
{
	(void)c;
	(void)n;
	abort();
}

void
guest_detach(struct guest_call *c)
{
	(void)c;
	abort();
}

json_t *
schema_tools(const struct guest *g)
{
	(void)g;
	abort();
}

/* ---- the table ---- */

#define MANAGER "SandboxManager"
#define FAILURE(t)                                                             \
	"{\"data\":{\"isError\":true,\"content\":[{\"type\":\"text\","         \
	"\"text\":\"" t "\"}]}}"
#define CALL(args) "{\"identity\":\"sb\",\"tool_name\":" args "}"

/* clang-format off */
static const struct row {
	const char *path, *body;
	int status;
	const char *reply;
	const char *asked;
} rows[] = {
	{ "/create_from_pool", "{\"sandbox_type\":\"base\",\"meta\":{\"session_ctx_id\":\"s\"}}", 200, "{\"data\":\"sb\"}", "pool base meta s" },
	{ "/create_from_pool", "{}", 200, "{\"data\":\"sb\"}", "pool -" },
	{ "/create_from_pool_async", "{\"args\":\"base\",\"kwargs\":{\"session_ctx_id\":\"s\"}}", 200, "{\"data\":\"sb\"}", "pool base meta s" },
	{ "/create_async", "{\"args\":\"base\",\"kwargs\":null}", 200, "{\"data\":\"sb\"}", "base" },
	{ "/create", "{\"mount_dir\":\"/m\",\"environment\":{\"A\":1}}", 200, "{\"data\":\"sb\"}", "- mount /m A=1" },
	{ "/create", "{\"environment\":{\"A\":null}}", 200, "{\"data\":null}", "" },
	{ "/create", "{\"environment\":7}", 500, "Error in create: environment must be an object", "" },
	{ "/create", "{\"sandbox_type\":\"gui\"}", 200, "{\"data\":null}", "gui" },
	{ "/create", "{\"sandbox_type\":\"wrong\"}", 500, "Error in create: 'wrong' is not a valid SandboxType", "" },
	{ "/create", "{\"sandbox_type\":5}", 500, "Error in create: 5 is not a valid SandboxType", "" },
	{ "/create", "{\"meta\":\"x\"}", 500, "Error in create: meta must be an object, not 'str'", "" },
	{ "/create", "{\"foo\":1}", 500, "Error in create: " MANAGER ".create() got an unexpected keyword argument 'foo'", "" },
	{ "/create", "{\"args\":\"base\"}", 500, "Error in create: " MANAGER ".create() got an unexpected keyword argument 'args'", "" },
	{ "/release", "{\"identity\":\"sb\"}", 200, "{\"data\":true}", "" },
	{ "/release_async", "{\"identity\":\"stuck\"}", 200, "{\"data\":false}", "" },
	{ "/release", "{}", 500, "Error in release: " MANAGER ".release() missing 1 required positional argument: 'identity'", "" },
	{ "/start", "{\"identity\":\"nope\"}", 200, "{\"data\":false}", "" },
	{ "/stop_async", "{\"args\":\"nope\"}", 200, "{\"data\":false}", "" },
	{ "/get_status", "{\"identity\":\"sb\"}", 200, "{\"data\":\"running\"}", "" },
	{ "/get_status", "{\"identity\":\"nope\"}", 200, "{\"data\":null}", "" },
	{ "/get_info_async", "{\"args\":\"sb\"}", 200,
	  "{\"data\":{\"session_id\":\"25\",\"container_id\":\"cc\",\"container_name\":\"sb\",\"url\":\"http://h:1/proxy/sb\",\"ports\":[8000],"
	  "\"mount_dir\":\"None\",\"storage_path\":null,\"runtime_token\":\"tt\",\"version\":\"agentscope/runtime-sandbox-base:latest\","
	  "\"meta\":{},\"timeout\":60,\"sandbox_type\":\"base\",\"state\":\"running\",\"session_ctx_id\":\"s1\",\"last_active_at\":1.5,"
	  "\"recycled_at\":null,\"released_at\":null,\"updated_at\":2.5,\"recycle_reason\":null,\"redirect_to\":null}}", "" },
	{ "/get_info", "{\"identity\":\"x\",\"_redirect_depth\":3}", 500, "Error in get_info: No container found with id: x.", "" },
	{ "/get_info", "{\"identity\":5}", 500, "Error in get_info: No container found with id: 5.", "" },
	{ "/get_info", "{\"identity\":null}", 500, "Error in get_info: No container found with id: None.", "" },
	{ "/get_info", "{\"identity\":12345678901234567890}", 500, "Error in get_info: No container found with id: 12345678901234567890.", "" },
	{ "/get_info", "{\"identity\":[]}", 500, "Error in get_info: unhashable type: 'list'", "" },
	{ "/get_info_async", "{\"identity\":\"a\",\"args\":\"b\"}", 500, "Error in get_info_async: " MANAGER ".get_info() got an unexpected keyword argument 'args'", "" },
	{ "/get_info", "", 500, "Error in get_info: Expecting value: line 1 column 1 (char 0)", "" },
	{ "/get_info", "[]", 500, "Error in get_info: " MANAGER ".get_info() argument after ** must be a mapping, not list", "" },
	{ "/get_info", "null", 500, "Error in get_info: " MANAGER ".get_info() argument after ** must be a mapping, not NoneType", "" },
	{ "/get_info", "\xff", 500, "Error in get_info: 'utf-8' codec can't decode byte 0xff in position 0", "" },
	{ "/check_health", "{\"identity\":\"x\"}", 500, "Error in check_health: No container found with id: x.", "" },
	{ "/check_health", "{\"identity\":\"gone\"}", 500, "Error in check_health: it was released", "" },
	{ "/list_tools", "{\"identity\":\"x\",\"zz\":1}", 500, "Error in list_tools: No container found with id: x.", "" },
	{ "/list_tools", "{\"identity\":\"gone\"}", 200, FAILURE("it was released"), "" },
	{ "/call_tool", "{\"identity\":\"x\",\"tool_name\":\"run_shell_command\",\"arguments\":{\"command\":\"c\"}}", 500, "Error in call_tool: No container found with id: x.", "" },
	{ "/call_tool", CALL("null"), 200, FAILURE("tool_name: Input should be a valid string"), "" },
	{ "/call_tool", CALL("\"\""), 200, FAILURE("tool_name is required."), "" },
	{ "/call_tool", CALL("\"browse\""), 200, FAILURE("Tool 'browse' not found."), "" },
	{ "/call_tool", CALL("\"run_shell_command\",\"arguments\":null"), 500, "Error in call_tool: run_shell_command() missing 1 required positional argument: 'command'", "" },
	{ "/call_tool", CALL("\"run_shell_command\",\"arguments\":[1]"), 500, "Error in call_tool: run_shell_command() argument after ** must be a mapping, not list", "" },
	{ "/call_tool", CALL("\"run_ipython_cell\",\"arguments\":{\"code\":\"x\",\"zz\":1}"), 500, "Error in call_tool: run_ipython_cell() got an unexpected keyword argument 'zz'", "" },
	{ "/call_tool", CALL("\"run_ipython_cell\",\"arguments\":{\"code\":5,\"timeout\":3,\"split_output\":true}"), 200, FAILURE("code: Input should be a valid string"), "" },
	{ "/call_tool", CALL("\"run_ipython_cell\",\"arguments\":{\"code\":\"\"}"), 200, FAILURE("Code is required."), "" },
	{ "/call_tool", "{\"identity\":\"gone\",\"tool_name\":\"run_shell_command\",\"arguments\":{\"command\":\"c\"}}", 200, FAILURE("it was released"), "" },
	{ "/call_tool", "{\"identity\":\"sb\",\"zz\":3}", 500, "Error in call_tool: " MANAGER ".call_tool() got an unexpected keyword argument 'zz'", "" },
	{ "/add_mcp_servers", "{\"identity\":\"x\"}", 500, "Error in add_mcp_servers: " MANAGER ".add_mcp_servers() missing 1 required positional argument: 'server_configs'", "" },
	{ "/add_mcp_servers", "{}", 500, "Error in add_mcp_servers: " MANAGER ".add_mcp_servers() missing 2 required positional arguments: 'identity' and 'server_configs'", "" },
	{ "/get_session_mapping_async", "{\"args\":\"s\"}", 200, "{\"data\":[\"s\"]}", "" },
	{ "/list_session_keys", "{}", 200, "{\"data\":[]}", "" },
	{ "/list_session_keys_async", "{\"x\":1}", 500, "Error in list_session_keys_async: " MANAGER ".list_session_keys() got an unexpected keyword argument 'x'", "" },
	{ "/cleanup", "{}", 200, "{\"data\":null}", "cleanup" },
};
/* clang-format on */

static void
the_wire_is_upstreams(void **unused)
{
	struct err err;

	(void)unused;
	app.config = conf_new();
	app.loop = loop_new();
	app.trails = trails_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_req q = { .path = rows[i].path,
			.body = rows[i].body };

		str_cut(&asked, 0);
		assert_int_equal(rpc_handle(&q, &err), 0);
		if (q.status != rows[i].status ||
		    strcmp(str_text(&q.reply), rows[i].reply) != 0)
			fail_msg("%s %s: %d %s", rows[i].path, rows[i].body,
			    q.status, str_text(&q.reply));
		assert_string_equal(str_text(&asked), rows[i].asked);
		q.closed(&q);
		str_free(&q.reply);
	}
	str_free(&asked);
	trails_free(app.trails);
	loop_free(app.loop);
	conf_free((struct config *)(uintptr_t)app.config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wire_is_upstreams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
