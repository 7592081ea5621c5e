#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/boxbody.h"
#include "web/gitdiff.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/watcher.h"
#include "web/work.h"

#define OUTPUT_MAX (32u << 20)

/* The workspace itself, not a directory above it; no pager, no hooks. */
#define OPENING                                                                \
	"export GIT_CEILING_DIRECTORIES=\"$(dirname \"$PWD\")\" "              \
	"GIT_PAGER=cat "                                                       \
	"GIT_TERMINAL_PROMPT=0 LC_ALL=C\n"                                     \
	"g() { git -c core.quotePath=false -c color.ui=false "                 \
	"-c log.showRoot=false -c log.showSignature=false "                    \
	"-c commit.gpgSign=false -c core.hooksPath=/dev/null \"$@\"; }\n"      \
	"top=$(g rev-parse --show-toplevel) || exit\n"

#define DIFF "-p --no-ext-diff --no-textconv --no-renames --ignore-cr-at-eol"

struct gitted {
	struct inbox in;
	json_t *body;
	struct work *work;
	const char *argv[7]; /* sh -c script name first second */
	const char *message;
	void (*answer)(struct gitted *, struct work_outcome *);
};

static void
drop(struct inbox *i)
{
	struct gitted *g = (struct gitted *)i;

	if (g->work != NULL)
		work_forget(g->work);
	json_decref(g->body);
}

/* ---- one run of git ---- */

static void
refuse(struct gitted *g, const struct work_outcome *o)
{
	auto_str struct str text = { 0 };

	if (o->tool_err != NULL)
		str_puts(&text, o->tool_err->text);
	else if (o->running)
		str_puts(&text, "git was not done in time");
	else if (o->cut > 0)
		str_puts(&text, "git prints more than can be answered");
	else if (o->errs.len > 0)
		str_add(&text, o->errs.at, o->errs.len);
	else
		str_printf(&text, "git ended with status %d", o->exit);
	while (text.len > 0 && text.at[text.len - 1] == '\n')
		str_cut(&text, text.len - 1);
	http_reply_detail(g->in.q, 500, str_text(&text));
}

static void
done(void *arg, struct work_outcome *o)
{
	struct gitted *g = arg;

	g->work = NULL;
	app_audit(g->in.q, "git", g->in.identity,
	    o->err != NULL ? o->err : o->tool_err);
	if (o->err != NULL)
		inbox_fail(&g->in, o->err);
	else if (o->tool_err != NULL || o->running || o->cut > 0 ||
	    o->exit != 0)
		refuse(g, o);
	else
		g->answer(g, o);
}

static int
run(struct gitted *g, const char *script, const char *first, const char *second,
    struct err *err)
{
	struct guest_arg arg[] = { { "argv", ARG_LIST, .list = g->argv },
		{ 0 } };
	struct work_request r = { .app = g->in.app,
		.tenant = app_tenant(g->in.q),
		.identity = g->in.identity,
		.tool = "exec",
		.arg = arg,
		.started_ms = g->in.started_ms,
		.cap = OUTPUT_MAX };
	const char *argv[] = { "/bin/sh", "-c", script, "git", first, second,
		NULL };

	memcpy(g->argv, argv, sizeof argv);
	g->work = work_start(&r, done, g, err);
	return g->work != NULL ? 0 : -1;
}

static struct gitted *
open_body(struct http_req *q, const struct inbox_kind *kind)
{
	json_t *body = boxbody_read(q);
	struct gitted *g;

	if (body == NULL)
		return NULL;
	g = inbox_new(q, kind);
	g->body = body;
	return g;
}

/* A text that becomes an argument. */
static int
plain_text(const char *text, size_t n, const char *name, struct err *err)
{
	if (strlen(text) != n)
		return err_set(err, ERR_INVALID, "%s holds a NUL character",
		    name);
	return 0;
}

/* ---- commit_changes ---- */

static void
committed(struct gitted *g, struct work_outcome *o)
{
	struct str out = { 0 };
	size_t n = strcspn(str_text(&o->out), "\n");

	str_puts(&out, "{\"commit\":");
	jtext_quote(&out, str_text(&o->out), n);
	str_puts(&out, ",\"message\":");
	jtext_quote_text(&out, g->message);
	str_putc(&out, '}');
	app_reply_json(g->in.q, 200, &out);
}

static int
commit_go(struct inbox *i, struct err *err)
{
	static const char script[] = OPENING
	    "g config user.name User && "
	    "g config user.email user@example.com && g add -A && "
	    "g commit -q --allow-empty --allow-empty-message --no-verify "
	    "--cleanup=verbatim -m \"$1\" && g rev-parse HEAD";
	struct gitted *g = (struct gitted *)i;
	size_t n = strlen("Automated commit");

	g->message = "Automated commit";
	if (boxbody_optional(i->q, g->body, "commit_message", &g->message, &n) <
	    0)
		return 0;
	if (plain_text(g->message, n, "commit_message", err) < 0)
		return -1;
	g->answer = committed;
	return run(g, script, g->message, "", err);
}

static const struct inbox_kind commit_kind = { .size = sizeof(struct gitted),
	.go = commit_go,
	.drop = drop };

int
watcher_commit(struct http_req *q, struct err *err)
{
	struct gitted *g = open_body(q, &commit_kind);

	return g == NULL ? 0 : inbox_start(&g->in, err);
}

/* ---- generate_diff ---- */

static void
diffed(struct gitted *g, struct work_outcome *o)
{
	struct str out = { 0 };

	str_puts(&out, "{\"diffs\":");
	gitdiff_patch(&out, str_text(&o->out), o->out.len);
	str_putc(&out, '}');
	app_reply_json(g->in.q, 200, &out);
}

static void
invalid_range(struct http_req *q)
{
	static const char text[] = "{\"status_code\":400,\"detail\":\"Invalid "
				   "commit range\",\"headers\":null}";

	/* Upstream's own slip, which its clients look for: status 200. */
	http_reply(q, 200, "application/json", text, sizeof text - 1);
}

static int
diff_go(struct inbox *i, struct err *err)
{
	static const char staged[] =
	    OPENING "g add -A && g diff --cached -R " DIFF " HEAD";
	static const char range[] = OPENING
	    "a=$(g rev-parse --verify --end-of-options \"$1^{commit}\") && "
	    "b=$(g rev-parse --verify --end-of-options \"$2^{commit}\") && "
	    "g diff " DIFF " \"$a\" \"$b\"";
	struct gitted *g = (struct gitted *)i;
	const char *a = "", *b = "";
	size_t na = 0, nb = 0;

	if (boxbody_text(i->q, g->body, "commit_a", &a, &na) < 0 ||
	    boxbody_text(i->q, g->body, "commit_b", &b, &nb) < 0)
		return 0;
	if (plain_text(a, na, "commit_a", err) < 0 ||
	    plain_text(b, nb, "commit_b", err) < 0)
		return -1;
	g->answer = diffed;
	if ((na == 0) != (nb == 0)) {
		invalid_range(i->q);
		return 0;
	}
	return run(g, na == 0 ? staged : range, a, b, err);
}

static const struct inbox_kind diff_kind = { .size = sizeof(struct gitted),
	.go = diff_go,
	.drop = drop };

int
watcher_diff(struct http_req *q, struct err *err)
{
	struct gitted *g = open_body(q, &diff_kind);

	return g == NULL ? 0 : inbox_start(&g->in, err);
}

/* ---- git_logs ---- */

static void
logged(struct gitted *g, struct work_outcome *o)
{
	struct str out = { 0 };
	struct err err;

	str_puts(&out, "{\"logs\":");
	if (gitdiff_log(&out, str_text(&o->out), o->out.len, &err) < 0) {
		str_free(&out);
		inbox_fail(&g->in, &err);
		return;
	}
	str_putc(&out, '}');
	app_reply_json(g->in.q, 200, &out);
}

static int
logs_go(struct inbox *i, struct err *err)
{
	static const char script[] =
	    OPENING "g log -m --first-parent -R " DIFF
		    " --format='" GITDIFF_LOG_FORMAT "'";
	struct gitted *g = (struct gitted *)i;

	g->answer = logged;
	return run(g, script, "", "", err);
}

static const struct inbox_kind logs_kind = { .size = sizeof(struct gitted),
	.go = logs_go,
	.drop = drop };

int
watcher_logs(struct http_req *q, struct err *err)
{
	struct gitted *g = inbox_new(q, &logs_kind);

	return inbox_start(&g->in, err);
}
