#include <string.h>
#include "base/log.h"
#include "conf/conf.h"
#include "conf/list.h"
#include "conf/option.h"
#include "conf/section.h"

/* Sockets are open, ids are given out, processes run, timers have been set. */
static const char fixed[] =
    "root host port socket blanks id_base slots limits_required front_memory "
    "container_prefix default_sandbox_type connections_max head_timeout "
    "body_timeout idle_timeout json_max agent_host agent_port "
    "agent_connections otlp_endpoint otlp_service push";

static void
later(const char *what, const char *name)
{
	log_say(LOG_WARN, "takes effect at the next start only", what, name,
	    NULL);
}

static void
adopt_scope(enum option_scope scope, void *now, void *fresh)
{
	for (const struct option *o = option_table(scope); o->name != NULL;
	     o++) {
		void *a = (char *)now + o->offset;
		void *b = (char *)fresh + o->offset;

		if (value_same(&o->rule, a, b))
			continue;
		if (scope == OPTION_MAIN && list_has_word(fixed, o->name))
			later("option", o->name);
		else
			value_swap(&o->rule, a, b);
	}
}

/* A tenant is its number: none moves, none is added, and who is gone can't
 * come in any more. */
static void
adopt_tenants(struct config *now, struct config *fresh)
{
	for (size_t i = 0; i < now->ntenant; i++) {
		struct conf_tenant *t = &now->tenant[i];
		size_t j = 0;

		while (j < fresh->ntenant &&
		    strcmp(fresh->tenant[j].name, t->name) != 0)
			j++;
		if (j < fresh->ntenant)
			adopt_scope(OPTION_TENANT, t, &fresh->tenant[j]);
		else
			memset(t->token_sha256, 0, sizeof t->token_sha256);
	}
	for (size_t j = 0; j < fresh->ntenant; j++) {
		size_t i = 0;

		while (i < now->ntenant &&
		    strcmp(fresh->tenant[j].name, now->tenant[i].name) != 0)
			i++;
		if (i == now->ntenant)
			later("tenant", fresh->tenant[j].name);
	}
}

static void
adopt_sections(enum option_scope scope, struct config *now,
    struct config *fresh)
{
	for (size_t i = 0; i < section_count(fresh, scope); i++) {
		void *section = section_nth(fresh, scope, i);
		const char *name = *(char *const *)section;
		void *old = section_named(now, scope, name);

		if (old != NULL)
			adopt_scope(scope, old, section);
		else
			later(section_word(scope), name);
	}
}

void
conf_adopt(struct config *now, struct config *fresh)
{
	adopt_scope(OPTION_MAIN, now, fresh);
	adopt_tenants(now, fresh);
	adopt_sections(OPTION_TYPE, now, fresh);
	adopt_sections(OPTION_MODEL, now, fresh);
	adopt_sections(OPTION_AGENT, now, fresh);
	fresh->before = now->before;
	now->before = fresh;
}
