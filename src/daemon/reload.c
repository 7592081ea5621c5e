#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/list.h"
#include "conf/option.h"
#include "daemon/broker.h"
#include "daemon/options.h"
#include "daemon/reload.h"

/* Sockets are open, ids are given out, processes run. */
static const char fixed[] = "root host port socket blanks id_base slots "
			    "limits_required front_memory";

/* "name = value", or "". */
static char *
printed(const struct option *o, const struct config *c)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	value_print(&o->rule, (const char *)c + o->offset, o->name, f);
	fclose(f);
	if (n > 0)
		text[n - 1] = '\0';
	return text;
}

/* What can't change now stays as it was, and is named. */
static int
keep_fixed(const struct config *was, struct config *fresh, struct err *err)
{
	for (const struct option *o = option_table(OPTION_MAIN);
	     o->name != NULL; o++) {
		auto_free char *a = printed(o, was), *b = printed(o, fresh);

		if (strcmp(a, b) == 0 || !list_has_word(fixed, o->name))
			continue;
		log_say(LOG_WARN, "takes effect at the next start only",
		    "option", o->name, NULL);
		if (!value_is_list(&o->rule) &&
		    conf_set(fresh, "", o->name, strchr(a, '=') + 2, err) < 0)
			return -1;
	}
	return 0;
}

int
reload(struct broker *b, const struct options *o, struct err *err)
{
	struct config *fresh = options_config(o, err);

	if (fresh == NULL)
		return -1;
	if (keep_fixed(b->config, fresh, err) < 0) {
		conf_free(fresh);
		return -1;
	}
	conf_free(b->config);
	b->config = fresh;
	log_level((enum log_level)log_level_parse(fresh->log_level));
	log_say(LOG_NOTE, "configuration read again", NULL);
	return 0;
}
