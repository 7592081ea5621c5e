#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/services.h"
#include "store/db.h"
#include "store/service.h"
#include "store/tasks.h"

struct services {
	struct services_conf conf;
	struct db *db;
	struct tasks_store *tasks;
};

struct services *
services_new(const struct services_conf *conf, struct err *err)
{
	struct services *s = xcalloc(1, sizeof *s);

	s->conf = *conf;
	if ((s->db = service_open(conf->path, err)) != NULL &&
	    (s->tasks = tasks_open(s->db, err)) != NULL)
		return s;
	services_free(s);
	return NULL;
}

void
services_free(struct services *s)
{
	if (s == NULL)
		return;
	tasks_close(s->tasks);
	db_close(s->db);
	free(s);
}

struct tasks_store *
services_tasks(struct services *s)
{
	return s->tasks;
}
