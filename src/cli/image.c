/* image import, export, ls, inspect, rm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/pack.h"
#include "cli/progress.h"
#include "cli/receive.h"
#include "cli/table.h"

#define LINE_MAX (1u << 20)

/* ---- import ---- */

struct import {
	struct pack *pack; /* a folder, or */
	int fd;            /* a file */
	uint64_t sent, total;
	struct progress *progress;
	struct str line; /* of the answer, not yet whole */
	json_t *end;     /* its last line */
};

static ssize_t
on_read(void *arg, void *buf, size_t n, struct err *err)
{
	struct import *im = arg;
	ssize_t got;

	/* The daemon has seen enough: the rest is not worth sending. */
	if (im->end != NULL)
		return err_set(err, ERR_BUSY, "the answer is there");
	if (im->pack != NULL)
		got = pack_read(im->pack, buf, n, err);
	else {
		do
			got = read(im->fd, buf, n);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			err_sys(err, "read");
	}
	if (got > 0) {
		im->sent += (uint64_t)got;
		progress_bytes(im->progress, im->sent, im->total);
	}
	return got;
}

static int
on_line(struct import *im, size_t n, struct err *err)
{
	json_t *o = json_loadb(str_text(&im->line), n, 0, NULL);
	const char *text;

	if (!json_is_object(o)) {
		json_decref(o);
		return err_set(err, ERR_PROTO,
		    "a line of the answer is no "
		    "JSON object");
	}
	text = json_string_value(json_object_get(o, "progress"));
	if (text != NULL) {
		progress_now(im->progress, text);
		json_decref(o);
		return 0;
	}
	json_decref(im->end);
	im->end = o;
	return 0;
}

static int
on_answer(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct import *im = arg;
	const char *nl;

	str_add(&im->line, bytes, n);
	while ((nl = strchr(str_text(&im->line), '\n')) != NULL) {
		n = (size_t)(nl - im->line.at);
		if (n > 0 && on_line(im, n, err) < 0)
			return -1;
		str_drop(&im->line, n + 1);
	}
	if (im->line.len > LINE_MAX)
		return err_set(err, ERR_LIMIT,
		    "a line of the answer is too "
		    "long");
	return 0;
}

static int
open_source(struct import *im, const char *path, struct err *err)
{
	auto_free char *oci = xasprintf("%s/oci-layout", path);
	auto_free char *docker = xasprintf("%s/manifest.json", path);
	struct stat st;

	if (strcmp(path, "-") == 0) {
		im->fd = dup(STDIN_FILENO);
		return im->fd < 0 ? err_sys(err, "standard input") : 0;
	}
	im->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (im->fd < 0 || fstat(im->fd, &st) < 0)
		return err_sys(err, "%s", path);
	if (S_ISREG(st.st_mode))
		im->total = (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (access(oci, F_OK) < 0 && access(docker, F_OK) < 0)
		return err_set(err, ERR_INVALID,
		    "%s holds no image: neither oci-layout nor manifest.json "
		    "is in it (a folder as a root: hutch run %s%s -- CMD)",
		    path, *path == '/' || *path == '.' ? "" : "./", path);
	im->pack = pack_open(path, err);
	return im->pack != NULL ? 0 : -1;
}

static int
outcome(struct cli *cli, struct import *im, struct err *err)
{
	json_t *done = json_object_get(im->end, "done");
	const char *why = json_string_value(json_object_get(im->end, "detail"));

	if (done == NULL)
		return err_set(err, ERR_INVALID, "%s: %s", cli->arg[0],
		    why != NULL ? why
				: "the daemon left before the image was in");
	if (cli->json)
		return cli_json(json_incref(done));
	puts(cli->arg[1]);
	return 0;
}

int
cmd_image_import(struct cli *cli, struct err *err)
{
	struct import im = { .fd = -1 };
	auto_free char *name = api_quote(cli->arg[1]);
	auto_free char *path = xasprintf("images?name=%s", name);
	struct api_stream s = { .method = "POST",
		.path = path,
		.read = on_read,
		.length = -1,
		.write = on_answer,
		.arg = &im };
	int r = open_source(&im, cli->arg[0], err);

	if (r == 0) {
		if (im.total > 0)
			s.length = (int64_t)im.total;
		im.progress = progress_new(cli->quiet || cli->json);
		r = api_stream(cli_api(cli), &s, err);
		progress_end(im.progress);
		/* An answer counts, though the rest was not taken. */
		if (r == 0 || im.end != NULL)
			r = outcome(cli, &im, err);
	}
	pack_free(im.pack);
	if (im.fd >= 0)
		close(im.fd);
	str_free(&im.line);
	json_decref(im.end);
	return r;
}

/* ---- export ---- */

struct export
{
	struct receive *to;
	struct progress *progress;
	uint64_t got;
};

static int
on_tar(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct export *ex = arg;

	ex->got += n;
	progress_bytes(ex->progress, ex->got, 0);
	return receive_bytes(ex->to, bytes, n, err);
}

int
cmd_image_export(struct cli *cli, struct err *err)
{
	auto_free char *name = api_quote(cli->arg[0]);
	auto_free char *path = xasprintf("export?image=%s", name);
	struct export ex = { 0 };
	const struct api_stream s = { .method = "GET",
		.path = path,
		.write = on_tar,
		.arg = &ex };
	int r;

	ex.to = receive_open(cli->arg[1], err);
	if (ex.to == NULL)
		return -1;
	ex.progress = progress_new(cli->quiet || cli->json);
	r = api_stream(cli_api(cli), &s, err);
	/* A place that gave up knows better why the stream broke. */
	if (receive_end(ex.to, r == 0, err) < 0)
		r = -1;
	progress_end(ex.progress);
	return r;
}

/* ---- the store ---- */

static void
row(struct table *t, const json_t *im)
{
	const json_t *size = json_object_get(im, "size");
	const json_t *when = json_object_get(im, "imported_at");
	auto_str struct str s = { 0 };

	table_cell(t, json_string_value(json_object_get(im, "name")));
	table_cell(t, json_string_value(json_object_get(im, "id")));
	table_cellf(t, "%zu", json_array_size(json_object_get(im, "layers")));
	if (json_is_integer(size))
		table_size(&s, (uint64_t)json_integer_value(size));
	table_cell(t, str_text(&s));
	str_cut(&s, 0);
	if (json_is_number(when))
		table_age(&s, clock_unix() - json_number_value(when));
	table_cell(t, str_text(&s));
}

int
cmd_image_ls(struct cli *cli, struct err *err)
{
	static const char *const heads[] = { "NAME", "ID", "LAYERS", "SIZE",
		"AGE", NULL };
	json_t *answer = NULL, *im;
	struct table *t;
	size_t i;

	if (api_call(cli_api(cli), "GET", "images", NULL, &answer, err) < 0)
		return -1;
	if (cli->json)
		return cli_json(answer);
	t = table_new(heads);
	json_array_foreach(json_object_get(answer, "images"), i, im) {
		const char *name =
		    json_string_value(json_object_get(im, "name"));

		if (!cli->quiet)
			row(t, im);
		else if (name != NULL)
			puts(name);
	}
	if (!cli->quiet)
		table_print(t, stdout);
	table_free(t);
	json_decref(answer);
	return 0;
}

int
cmd_image_inspect(struct cli *cli, struct err *err)
{
	auto_free char *name = api_quote(cli->arg[0]);
	auto_free char *path = xasprintf("images/%s", name);
	json_t *answer = NULL;

	if (api_call(cli_api(cli), "GET", path, NULL, &answer, err) < 0)
		return -1;
	return cli_json(answer);
}

int
cmd_image_rm(struct cli *cli, struct err *err)
{
	for (int i = 0; i < cli->narg; i++) {
		auto_free char *name = api_quote(cli->arg[i]);
		auto_free char *path = xasprintf("images/%s", name);

		if (api_call(cli_api(cli), "DELETE", path, NULL, NULL, err) < 0)
			return err_wrap(err, "%s", cli->arg[i]);
		if (!cli->quiet && !cli->json)
			puts(cli->arg[i]);
	}
	return 0;
}
