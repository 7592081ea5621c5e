#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include "base/str.h"
#include "base/utf8.h"
#include "cli/term.h"

/* One terminal a process: what it was before, and whether it is to be put
 * back. */
static struct {
	struct termios was;
	int fd;
	bool raw;
} saved;

void
term_restore(void)
{
	if (saved.raw)
		tcsetattr(saved.fd, TCSADRAIN, &saved.was);
	saved.raw = false;
}

void
term_raw(int fd)
{
	static bool registered;
	struct termios raw;

	if (saved.raw || tcgetattr(fd, &saved.was) < 0)
		return;
	if (!registered)
		registered = atexit(term_restore) == 0;
	raw = saved.was;
	cfmakeraw(&raw);
	saved.fd = fd;
	saved.raw = tcsetattr(fd, TCSADRAIN, &raw) == 0;
}

bool
term_size(int fd, unsigned *rows, unsigned *cols)
{
	struct winsize w;

	if (ioctl(fd, TIOCGWINSZ, &w) < 0)
		return false;
	*rows = w.ws_row;
	*cols = w.ws_col;
	return true;
}

/* The length of the UTF-8 character at text, 0 if it is none or a control. */
static size_t
printable(const unsigned char *text, size_t n)
{
	size_t len = text[0] < 0x80 ? 1
	    : text[0] < 0xc2        ? 0
	    : text[0] < 0xe0        ? 2
	    : text[0] < 0xf0        ? 3
	    : text[0] < 0xf5        ? 4
				    : 0;

	if (len == 0 || len > n || text[0] < 0x20 || text[0] == 0x7f ||
	    utf8_span(text, len) != len)
		return 0;
	/* C1 controls: 0x9b alone starts an escape sequence. */
	return len == 2 && text[0] == 0xc2 && text[1] < 0xa0 ? 0 : len;
}

void
term_clean(struct str *out, const char *text, size_t n, bool keep)
{
	const unsigned char *at = (const unsigned char *)text;

	while (n > 0) {
		size_t len = printable(at, n);

		if (len > 0)
			str_add(out, at, len);
		else if (keep && (*at == '\n' || *at == '\t'))
			str_putc(out, (char)*at);
		else
			str_printf(out, "\\x%02x", *at);
		len = len > 0 ? len : 1;
		at += len;
		n -= len;
	}
}
