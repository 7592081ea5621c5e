#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/err.h"

int
err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->sys = 0;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;

	err->code = ERR_SYS;
	err->sys = saved;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(saved));
	return -1;
}

int
err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof err->text];
	va_list ap;
	size_t n;

	memcpy(inner, err->text, sizeof inner);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", inner);
	return -1;
}

const char *
err_name(enum err_code code)
{
	static const char *const names[ERR_CODES] = {
		[ERR_SYS] = "system",
		[ERR_INVALID] = "invalid",
		[ERR_DENIED] = "denied",
		[ERR_MISSING] = "missing",
		[ERR_BUSY] = "busy",
		[ERR_LIMIT] = "limit",
		[ERR_TIMEOUT] = "timeout",
		[ERR_PROTO] = "protocol",
	};

	return code < ERR_CODES ? names[code] : "unknown";
}
