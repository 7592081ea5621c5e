#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/str.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/term.h"

enum { EVERY_MS = 200, LINE_MS = 2000 };

struct progress {
	bool quiet, terminal, shown;
	int64_t next;
	struct str now; /* what goes on, said before the bytes */
};

struct progress *
progress_new(bool quiet)
{
	struct progress *p = xcalloc(1, sizeof *p);

	p->quiet = quiet;
	p->terminal = isatty(STDERR_FILENO);
	return p;
}

static void
clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

void
progress_end(struct progress *p)
{
	clear(p);
	str_free(&p->now);
	free(p);
}

static void
show(struct progress *p, const char *bytes)
{
	unsigned rows, cols;

	if (!term_size(STDERR_FILENO, &rows, &cols) || cols < 20)
		cols = 80;
	clear(p);
	/* Cut to the line: what wraps can't be cleared. */
	fprintf(stderr, "%.*s%s", (int)(cols - 20), str_text(&p->now), bytes);
	p->shown = true;
}

void
progress_bytes(struct progress *p, uint64_t done, uint64_t total)
{
	auto_str struct str s = { 0 };

	if (p->quiet || !p->terminal || clock_ms() < p->next)
		return;
	p->next = clock_ms() + EVERY_MS;
	if (p->now.len > 0)
		str_putc(&s, ' ');
	table_size(&s, done);
	if (total > 0) {
		str_puts(&s, " of ");
		table_size(&s, total);
	}
	show(p, str_text(&s));
}

void
progress_say(struct progress *p, const char *text, const char *detail)
{
	auto_str struct str s = { 0 };

	if (p->quiet)
		return;
	clear(p);
	if (detail != NULL)
		term_clean(&s, detail, strlen(detail), false);
	fprintf(stderr, "%s%s%s\n", text, detail != NULL ? ": " : "",
	    str_text(&s));
}

void
progress_now(struct progress *p, const char *text)
{
	if (p->quiet)
		return;
	str_cut(&p->now, 0);
	term_clean(&p->now, text, strlen(text), false);
	if (p->terminal) {
		show(p, "");
		return;
	}
	if (clock_ms() < p->next)
		return;
	p->next = clock_ms() + LINE_MS;
	fprintf(stderr, "%s\n", str_text(&p->now));
}
