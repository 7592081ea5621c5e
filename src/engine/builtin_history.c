/* What the built-in agent remembers, in the services' history. */
#include "base/err.h"
#include "base/log.h"
#include "engine/builtin.h"
#include "engine/services.h"

#define MESSAGES_MOST 1000 /* of one session that a model is shown */

static json_t *
load(void *arg, int tenant, const char *agent, const char *user,
    const char *session)
{
	const struct service_whose w = { tenant, agent, user, session };
	json_t *all = json_array();
	struct err err;

	if (services_history_get(arg, &w, MESSAGES_MOST, all, &err) < 0)
		log_err(LOG_WARN, &err, "history not read", "agent", agent,
		    NULL);
	return all;
}

static void
save(void *arg, int tenant, const char *agent, const char *user,
    const char *session, const json_t *messages)
{
	const struct service_whose w = { tenant, agent, user, session };
	struct err err;

	if (json_array_size(messages) > 0 &&
	    services_history_add(arg, &w, messages, &err) < 0)
		log_err(LOG_WARN, &err, "history not kept", "agent", agent,
		    "session", session, NULL);
}

const struct builtin_memory builtin_history = { load, save };
