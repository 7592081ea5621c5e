/*
 * gitdiff: what `git diff` and `git log -p` print, as the watcher's JSON.
 *
 * Upstream makes its diffs itself: {"path": "--- a/path\n+++ b/path\n@@ ..."},
 * no LF at the end, no word of modes or missing newlines.  Pure; the bytes are
 * a guest's.
 */
#ifndef WEB_GITDIFF_H
#define WEB_GITDIFF_H

#include <stddef.h>

struct err;
struct str;

/* The object of a patch. */
void gitdiff_patch(struct str *out, const char *text, size_t n);

/* Each commit: \1 hash \0 author \0 date \0 message \0, then its patch. */
#define GITDIFF_LOG_FORMAT "%x01%H%x00%an%x00%cI%x00%B%x00"
/* The array of "logs". */
int gitdiff_log(struct str *out, const char *text, size_t n, struct err *);

#endif
