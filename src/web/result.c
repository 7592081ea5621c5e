#include <string.h>
#include "base/str.h"
#include "json/jtext.h"
#include "web/result.h"

static const char opening[] = "{\"meta\":null,\"content\":[";

void
result_begin(struct str *out)
{
	str_puts(out, opening);
}

void
result_text(struct str *out, const void *bytes, size_t n,
    const char *description)
{
	if (out->at[out->len - 1] != '[')
		str_putc(out, ',');
	str_puts(out, "{\"type\":\"text\",\"text\":");
	jtext_quote(out, bytes, n);
	str_puts(out, ",\"annotations\":null");
	if (description != NULL) {
		str_puts(out, ",\"description\":");
		jtext_quote_text(out, description);
	}
	str_putc(out, '}');
}

void
result_end(struct str *out, bool is_error)
{
	str_printf(out, "],\"isError\":%s}", is_error ? "true" : "false");
}

void
result_failure(struct str *out, const char *text)
{
	str_puts(out,
	    "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":");
	jtext_quote_text(out, text);
	str_puts(out, "}]}");
}
