/*
 * log: one line a message, logfmt, to standard error.
 *
 * Each line begins with a journald level ("<6>"), then level=info prog=hutchd
 * msg="..." and whatever pairs the caller adds.  Control characters are
 * escaped, so no one else's bytes can forge a line.  Safe before log_start().
 * Not for use between clone and exec.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

struct err;

enum log_level {
	LOG_ERROR = 3,
	LOG_WARN = 4,
	LOG_NOTE = 5,
	LOG_INFO = 6,
	LOG_DEBUG = 7
};

void log_start(const char *prog, enum log_level most);
void log_level(enum log_level most);
int log_level_parse(const char *name); /* -1: no such level */

/*
 * The pairs: key, value, key, value, NULL; all text; a NULL value is left
 * out.  log_say(LOG_INFO, "started", "sandbox", id, NULL);
 */
void log_say(enum log_level, const char *msg, ...) __attribute__((sentinel));
void log_err(enum log_level, const struct err *, const char *msg, ...)
    __attribute__((sentinel));
void log_f(enum log_level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
