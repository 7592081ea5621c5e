/* doctor: every probe, in order, and what to do about what they found. */
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/probe.h"
#include "cli/term.h"

/* clang-format off */
static const struct {
	const char *name, *mark;
} verdicts[] = {
	[VERDICT_GOOD]	  = { "good",	 "ok  " },
	[VERDICT_NOTE]	  = { "note",	 "note" },
	[VERDICT_BAD]	  = { "bad",	 "BAD " },
	[VERDICT_UNKNOWN] = { "unknown", "?   " },
};
/* clang-format on */

struct report {
	bool json;
	json_t *list;
	int bad;
};

static void
add(struct report *r, const char *name, enum verdict v, const char *detail,
    const char *remedy)
{
	auto_str struct str clean = { 0 };

	if (v == VERDICT_GOOD || v == VERDICT_UNKNOWN)
		remedy = NULL;
	r->bad += v == VERDICT_BAD;
	json_array_append_new(r->list,
	    json_pack("{s:s, s:s, s:s+, s:s?}", "name", name, "verdict",
		verdicts[v].name, "detail", detail, "", "remedy", remedy));
	if (r->json)
		return;
	term_clean(&clean, detail, strlen(detail), false);
	printf("%s  %-16s %s\n", verdicts[v].mark, name, str_text(&clean));
	if (remedy != NULL)
		printf("      -> %s\n", remedy);
}

static void
run(struct report *r, const struct probe *p)
{
	for (; p->name != NULL; p++) {
		auto_str struct str detail = { 0 };
		enum verdict v = p->check(&detail);

		add(r, p->name, v, str_text(&detail), p->remedy);
	}
}

/* What a daemon that runs has found for itself. */
static void
ask_daemon(struct report *r, struct cli *cli)
{
	json_t *answer = NULL, *o;
	struct err err;
	size_t i;

	if (api_call(cli_api(cli), "GET", "doctor", NULL, &answer, &err) < 0) {
		add(r, "daemon", VERDICT_UNKNOWN, err.text, NULL);
		return;
	}
	add(r, "daemon", VERDICT_GOOD, "answers", NULL);
	json_array_foreach(json_object_get(answer, "checks"), i, o) {
		const char *name =
		    json_string_value(json_object_get(o, "name"));
		const char *detail =
		    json_string_value(json_object_get(o, "detail"));
		bool ok = json_is_true(json_object_get(o, "ok"));

		add(r, name != NULL ? name : "?",
		    ok ? VERDICT_GOOD : VERDICT_BAD,
		    detail != NULL ? detail : "",
		    json_string_value(json_object_get(o, "remedy")));
	}
	json_decref(answer);
}

int
cmd_doctor(struct cli *cli, struct err *err)
{
	struct report r = { .json = cli->json, .list = json_array() };

	(void)err;
	probe_root = cli->root;
	run(&r, probes_kernel);
	run(&r, probes_host);
	run(&r, probes_net);
	run(&r, probes_box);
	ask_daemon(&r, cli);
	if (cli->json)
		cli_json(json_pack("{s:o, s:b}", "checks", r.list, "good",
		    r.bad == 0));
	else
		json_decref(r.list);
	if (r.bad > 0 && !cli->json)
		printf("\n%d of these must be mended before sandboxes run here "
		       "as they should.\n",
		    r.bad);
	cli->status = r.bad > 0 ? CLI_FAILED : 0;
	return 0;
}
