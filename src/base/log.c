#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

static const char *prog = "hutch";
static enum log_level most = LOG_INFO;
static bool terminal; /* somebody reads it who is no journal */

static const char *const names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warning",
	[LOG_NOTE] = "notice",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

void
log_start(const char *name, enum log_level level)
{
	prog = name;
	most = level;
	terminal = isatty(STDERR_FILENO);
}

void
log_level(enum log_level level)
{
	most = level;
}

int
log_level_parse(const char *name)
{
	for (int i = LOG_ERROR; i <= LOG_DEBUG; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

static void
put_value(struct str *line, const char *v)
{
	bool plain = *v != '\0';

	for (const char *p = v; *p != '\0'; p++)
		plain = plain && *p > ' ' && *p < 0x7f && *p != '"' &&
		    *p != '=' && *p != '\\';
	if (plain) {
		str_puts(line, v);
		return;
	}
	str_putc(line, '"');
	for (const unsigned char *p = (const unsigned char *)v; *p; p++) {
		if (*p == '"' || *p == '\\')
			str_printf(line, "\\%c", *p);
		else if (*p == '\n')
			str_puts(line, "\\n");
		else if (*p < ' ' || *p == 0x7f)
			str_printf(line, "\\x%02x", *p);
		else
			str_putc(line, (char)*p);
	}
	str_putc(line, '"');
}

static void
put_pair(struct str *line, const char *key, const char *value)
{
	if (value == NULL)
		return;
	str_printf(line, " %s=", key);
	put_value(line, value);
}

static void
put_pairs(struct str *line, va_list ap)
{
	const char *key;

	while ((key = va_arg(ap, const char *)) != NULL)
		put_pair(line, key, va_arg(ap, const char *));
}

static void
head(struct str *line, enum log_level level, const char *msg)
{
	if (!terminal)
		str_printf(line, "<%d>", (int)level);
	str_printf(line, "level=%s prog=%s", names[level], prog);
	put_pair(line, "msg", msg);
}

/* One write, so that lines of several processes do not mix. */
static void
out(struct str *line)
{
	ssize_t n;

	str_putc(line, '\n');
	n = write(STDERR_FILENO, line->at, line->len);
	(void)n;
}

void
log_say(enum log_level level, const char *msg, ...)
{
	auto_str struct str line = { 0 };
	va_list ap;

	if (level > most)
		return;
	head(&line, level, msg);
	va_start(ap, msg);
	put_pairs(&line, ap);
	va_end(ap);
	out(&line);
}

void
log_err(enum log_level level, const struct err *err, const char *msg, ...)
{
	auto_str struct str line = { 0 };
	va_list ap;

	if (level > most)
		return;
	head(&line, level, msg);
	va_start(ap, msg);
	put_pairs(&line, ap);
	va_end(ap);
	put_pair(&line, "code", err_name(err->code));
	put_pair(&line, "error", err->text);
	out(&line);
}

void
log_f(enum log_level level, const char *fmt, ...)
{
	auto_str struct str line = { 0 }, msg = { 0 };
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	str_vprintf(&msg, fmt, ap);
	va_end(ap);
	head(&line, level, str_text(&msg));
	out(&line);
}
