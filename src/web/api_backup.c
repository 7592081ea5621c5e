/* api: a copy of the state, and how this daemon looks from here. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "store/journal.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"

#define PIECE 65536

struct sending {
	struct http_req *q;
	int fd;
	bool over;
};

static void
closed(struct http_req *q)
{
	struct sending *s = http_req_data(q);

	close(s->fd);
	free(s);
}

static void
send_some(struct http_req *q)
{
	struct sending *s = http_req_data(q);
	char b[PIECE];
	ssize_t n = 1;

	while (!s->over && n > 0 && http_reply_backlog(q) < APP_OUT_HIGH) {
		n = read(s->fd, b, sizeof b);
		if (n > 0)
			http_reply_write(q, b, (size_t)n);
	}
	if (s->over || n > 0)
		return;
	s->over = true;
	if (n == 0)
		http_reply_end(q);
	else
		http_reply_abort(q);
}

/* The copy, which has no name any more when this returns. */
static int
copy(struct app *a, struct err *err)
{
	auto_free char *path = xasprintf("%s/backup.part", a->state);
	int fd;

	unlink(path);
	if (journal_backup(a->journal, path, err) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err_sys(err, "backup");
	unlink(path);
	return fd;
}

int
api_backup(struct http_req *q, struct err *err)
{
	int fd = copy(app_of(q), err);
	struct sending *s;

	app_audit(q, "backup", NULL, fd < 0 ? err : NULL);
	if (fd < 0)
		return api_fail(q, err);
	s = xcalloc(1, sizeof *s);
	s->q = q;
	s->fd = fd;
	http_req_set_data(q, s);
	http_req_on_closed(q, closed);
	http_reply_on_drained(q, send_some);
	http_reply_start(q, 200, "application/vnd.sqlite3", -1);
	send_some(q);
	return 0;
}
