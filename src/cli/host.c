/* backup, reset, version: what concerns a daemon as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/progress.h"

/* ---- backup ---- */

struct backup {
	int fd;
	uint64_t bytes;
	struct progress *progress;
};

static int
on_piece(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct backup *b = arg;

	b->bytes += n;
	progress_bytes(b->progress, b->bytes, 0);
	return file_write_all(b->fd, bytes, n, err);
}

static int
fetch(struct cli *cli, struct backup *b, struct err *err)
{
	const struct api_stream s = { .method = "GET",
		.path = "backup",
		.write = on_piece,
		.arg = b };
	int r;

	b->progress = progress_new(cli->quiet || cli->json);
	r = api_stream(cli_api(cli), &s, err);
	progress_end(b->progress);
	return r;
}

int
cmd_backup(struct cli *cli, struct err *err)
{
	const char *file = cli->arg[0];
	auto_free char *part = xasprintf("%s.part", file);
	struct backup b = { .fd = -1 };
	int r;

	/* The state holds tokens' digests and sessions: for its owner only. */
	b.fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (b.fd < 0)
		return err_sys(err, "%s", part);
	r = fetch(cli, &b, err);
	if (r == 0 && fsync(b.fd) < 0)
		r = err_sys(err, "%s", part);
	close(b.fd);
	if (r == 0 && rename(part, file) < 0)
		r = err_sys(err, "%s", file);
	if (r < 0)
		unlink(part);
	else if (cli->json)
		cli_json(json_pack("{s:s, s:I}", "file", file, "bytes",
		    (json_int_t)b.bytes));
	return r;
}

/* ---- reset ---- */

static bool
sure(const char *root)
{
	char answer[8] = "";

	if (!isatty(STDIN_FILENO))
		return false;
	fprintf(stderr,
	    "This ends every sandbox of %s and deletes its workspaces, images "
	    "and state.\nGo on? [y/N] ",
	    root);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y');
}

/* The broker knows what it makes; so it is the one that can take it back. */
int
cmd_reset(struct cli *cli, struct err *err)
{
	const char *root = cli->root != NULL ? cli->root : DEFAULT_ROOT;
	auto_free char *built = cli_built();
	struct err absent;
	auto_free char *daemon =
	    xasprintf("%s/hutchd", built != NULL ? built : SBINDIR);

	if (geteuid() != 0)
		return err_set(err, ERR_DENIED, "only root may reset");
	if (api_call(cli_api(cli), "GET", "info", NULL, NULL, &absent) == 0)
		return err_set(err, ERR_BUSY,
		    "the daemon of %s runs: stop it first "
		    "(systemctl stop hutch, or an interrupt)",
		    root);
	if (!cli->force && !sure(root))
		return err_set(err, ERR_DENIED,
		    "not done; --force does it "
		    "without asking");
	execl(daemon, "hutchd", "--reset", "--root", root,
	    built != NULL ? "--libexec" : NULL, built, NULL);
	return err_sys(err, "%s", daemon);
}

/* ---- version ---- */

int
cmd_version(struct cli *cli, struct err *err)
{
	json_t *info = NULL;
	const char *daemon = NULL;
	struct err unreachable;

	(void)err;
	if (api_call(cli_api(cli), "GET", "info", NULL, &info, &unreachable) ==
	    0)
		daemon = json_string_value(json_object_get(info, "version"));
	if (cli->json)
		cli_json(json_pack("{s:s, s:s?}", "hutch", PACKAGE_VERSION,
		    "hutchd", daemon));
	else
		printf("hutch  %s\nhutchd %s\n", PACKAGE_VERSION,
		    daemon != NULL ? daemon : "(no answer)");
	json_decref(info);
	return 0;
}
