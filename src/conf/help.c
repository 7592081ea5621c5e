#include <ctype.h>
#include <string.h>
#include "base/str.h"
#include "conf/conf.h"
#include "conf/option.h"

/* clang-format off */
static const struct {
	enum option_scope scope;
	const char *title;
} parts[] = {
	{ OPTION_MAIN,		"Before any section" },
	{ OPTION_TENANT,	"[tenant NAME]" },
	{ OPTION_TYPE,		"[type NAME]" },
	{ OPTION_MODEL,		"[model NAME]" },
	{ OPTION_AGENT,		"[agent NAME]" },
};
/* clang-format on */

#define PARTS (sizeof parts / sizeof *parts)

static void
takes(const struct option *o, struct str *out)
{
	value_takes(&o->rule, out);
	if (o->value != NULL && *o->value != '\0')
		str_printf(out, "; default %s", o->value);
	if (o->env != NULL)
		str_printf(out, "; environment %s", o->env);
}

/* An error's reason too may be one: then it is no sentence yet. */
static void
sentence(const char *text, struct str *out)
{
	str_printf(out, "%c%s%s", toupper((unsigned char)*text), text + 1,
	    text[strlen(text) - 1] == '.' ? "" : ".");
}

void
conf_help(FILE *out)
{
	for (size_t i = 0; i < PARTS; i++) {
		fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", parts[i].title);
		for (const struct option *o = option_table(parts[i].scope);
		     o->name != NULL; o++) {
			auto_str struct str what = { 0 }, text = { 0 };

			takes(o, &what);
			sentence(o->text, &text);
			fprintf(out, "  %-22s %s (%s)\n", o->name,
			    str_text(&text), str_text(&what));
		}
	}
}

void
conf_help_mdoc(FILE *out)
{
	for (size_t i = 0; i < PARTS; i++) {
		fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", parts[i].title);
		for (const struct option *o = option_table(parts[i].scope);
		     o->name != NULL; o++) {
			auto_str struct str what = { 0 }, text = { 0 };

			takes(o, &what);
			sentence(o->text, &text);
			fprintf(out, ".It Ic %s\n%s\nTakes %s.\n", o->name,
			    str_text(&text), str_text(&what));
		}
		fputs(".El\n", out);
	}
}
