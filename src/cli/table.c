#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "cli/table.h"
#include "cli/term.h"

enum { COLUMNS = 16, GAP = 2 };

struct table {
	const char *const *heads;
	size_t ncol, n; /* columns, cells */
	struct str *cell;
	size_t width[COLUMNS];
};

/* Columns a text takes on a terminal: one a character will do for ids, names
 * and numbers. */
static size_t
width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

struct table *
table_new(const char *const *heads)
{
	struct table *t = xcalloc(1, sizeof *t);

	t->heads = heads;
	for (; heads[t->ncol] != NULL && t->ncol < COLUMNS; t->ncol++)
		t->width[t->ncol] = width(heads[t->ncol]);
	return t;
}

void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n; i++)
		str_free(&t->cell[i]);
	free(t->cell);
	free(t);
}

void
table_cell(struct table *t, const char *text)
{
	size_t col = t->n % t->ncol, w;
	struct str *c;

	t->cell = xrealloc(t->cell, (t->n + 1) * sizeof *t->cell);
	c = &t->cell[t->n++];
	*c = (struct str){ 0 };
	if (text == NULL || *text == '\0')
		text = "-";
	term_clean(c, text, strlen(text), false);
	w = width(str_text(c));
	if (w > t->width[col])
		t->width[col] = w;
}

void
table_cellf(struct table *t, const char *fmt, ...)
{
	auto_str struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&s, fmt, ap);
	va_end(ap);
	table_cell(t, str_text(&s));
}

static void
print_cell(const struct table *t, size_t col, const char *text, FILE *out)
{
	size_t pad = t->width[col] - width(text) + GAP;

	fputs(text, out);
	if (col + 1 == t->ncol)
		fputc('\n', out);
	else
		fprintf(out, "%*s", (int)pad, "");
}

void
table_print(const struct table *t, FILE *out)
{
	for (size_t i = 0; i < t->ncol; i++)
		print_cell(t, i, t->heads[i], out);
	for (size_t i = 0; i < t->n; i++)
		print_cell(t, i % t->ncol, str_text(&t->cell[i]), out);
}

void
table_age(struct str *out, double seconds)
{
	static const struct {
		double unit;
		char name;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (seconds >= units[i].unit) {
			str_printf(out, "%.0f%c",
			    (double)(int64_t)(seconds / units[i].unit),
			    units[i].name);
			return;
		}
	str_puts(out, "0s");
}

void
table_size(struct str *out, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	double n = (double)bytes;
	size_t i = 0;

	while (n >= 999.5 && i < sizeof units - 2) {
		n /= 1024;
		i++;
	}
	str_printf(out, i > 0 && n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[i]);
}
