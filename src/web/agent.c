#include "base/err.h"
#include "engine/engine.h"
#include "web/agent.h"
#include "web/app.h"
#include "web/http.h"

/* clang-format off */
static const int status[ERR_CODES] = {
	[ERR_SYS]	= 500,
	[ERR_INVALID]	= 422,
	[ERR_DENIED]	= 503,	/* it is being stopped */
	[ERR_MISSING]	= 404,
	[ERR_BUSY]	= 409,
	[ERR_LIMIT]	= 429,
	[ERR_TIMEOUT]	= 504,
	[ERR_PROTO]	= 502,
};
/* clang-format on */

int
agent_unknown(struct http_req *q)
{
	http_reply_detail(q, 404, "Not Found");
	return 0;
}

int
agent_fail(struct http_req *q, const struct err *err)
{
	http_reply_detail(q, status[err->code], err->text);
	return 0;
}

struct deployment *
agent_of(struct http_req *q)
{
	struct deployment *d =
	    engine_find(app_of(q)->engine, http_req_name(q, "agent"));

	if (d == NULL)
		agent_unknown(q);
	return d;
}
