#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "daemon/broker.h"
#include "daemon/model.h"
#include "daemon/options.h"
#include "daemon/reload.h"

int
reload(struct broker *b, const struct options *o, struct err *err)
{
	struct link_msg m = { .type = BROKER_RELOAD, .nfd = 1 };
	struct config *fresh = options_config(o, err);

	if (fresh == NULL)
		return -1;
	conf_adopt(b->config, fresh);
	log_level((enum log_level)log_level_parse(b->config->log_level));
	m.fd[0] = broker_config(b, err);
	if (m.fd[0] < 0)
		return -1;
	broker_tell(b, &m);
	model_reload(b->model);
	log_say(LOG_NOTE, "configuration read again", NULL);
	return 0;
}
