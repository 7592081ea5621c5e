#include "engine/invalid.h"

#include "json/jtext.h"

static void
put_place(struct str *out, const struct place *p)
{
	if (p == NULL) {
		str_puts(out, "\"body\"");
		return;
	}
	put_place(out, p->up);
	str_putc(out, ',');
	if (p->name != NULL)
		jtext_quote_text(out, p->name);
	else
		str_printf(out, "%zu", p->index);
}

void
invalid_add(struct invalid *v, const struct place *at, const char *type,
    const char *msg, const json_t *input, const char *ctx)
{
	struct str *out = &v->list;

	if (v->n++ >= INVALID_MAX)
		return;
	if (out->len > 0)
		str_putc(out, ',');
	str_puts(out, "{\"type\":");
	jtext_quote_text(out, type);
	str_puts(out, ",\"loc\":[");
	put_place(out, at);
	str_puts(out, "],\"msg\":");
	jtext_quote_text(out, msg);
	str_puts(out, ",\"input\":");
	if (input != NULL)
		jtext_write(out, input);
	else
		str_puts(out, "null");
	if (ctx != NULL) {
		str_puts(out, ",\"ctx\":");
		str_puts(out, ctx);
	}
	str_putc(out, '}');
}

void
invalid_missing(struct invalid *v, const struct place *up, const char *name,
    const json_t *in)
{
	invalid_add(v, &(struct place){ up, name, 0 }, "missing",
	    "Field required", in, NULL);
}

void
invalid_take(struct invalid *v, struct str *out)
{
	str_puts(out, "{\"detail\":[");
	str_add(out, str_text(&v->list), v->list.len);
	str_puts(out, "]}");
	invalid_free(v);
}

void
invalid_free(struct invalid *v)
{
	str_free(&v->list);
	v->n = 0;
}
