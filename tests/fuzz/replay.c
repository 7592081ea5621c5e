/*
 * replay: a harness without a fuzzer.  Runs the inputs of its corpus, or of the
 * files and directories named, and prints TAP.
 *
 * Each input is handed over in a block of exactly its size, so that a sanitised
 * build sees the first byte read beyond it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static unsigned done;

static void
die(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

static void
run(int dir, const char *name)
{
	auto_str struct str text = { 0 };
	auto_free uint8_t *exact = NULL;
	struct err err;

	if (file_read_at(dir, name, &text, 1 << 24, &err) < 0)
		die(name, err.text);
	exact = xmalloc(text.len > 0 ? text.len : 1);
	if (text.len > 0)
		memcpy(exact, text.at, text.len);
	LLVMFuzzerTestOneInput(exact, text.len);
	printf("ok %u - %s\n", ++done, name);
	fflush(stdout);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_input(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void
run_all(const char *path)
{
	struct dirent **names;
	auto_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int n = scandir(path, &names, is_input, by_name);

	if (dir < 0 || n < 0)
		die(path, "no such corpus");
	for (int i = 0; i < n; i++) {
		run(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* .../NAME_fuzz has its corpus in $srcdir/tests/fuzz/corpus/NAME. */
static char *
own_corpus(const char *program)
{
	const char *base = strrchr(program, '/');
	const char *top = getenv("srcdir");
	int len;

	base = base != NULL ? base + 1 : program;
	len = (int)strcspn(base, "_");
	return xasprintf("%s/tests/fuzz/corpus/%.*s", top != NULL ? top : ".",
	    len, base);
}

int
main(int argc, char **argv)
{
	auto_free char *corpus = own_corpus(argv[0]);
	struct stat st;

	if (argc == 1)
		run_all(corpus);
	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) < 0)
			die(argv[i], "no such file");
		if (S_ISDIR(st.st_mode))
			run_all(argv[i]);
		else
			run(AT_FDCWD, argv[i]);
	}
	if (done == 0)
		die(argv[0], "nothing to replay");
	printf("1..%u\n", done);
	return 0;
}
