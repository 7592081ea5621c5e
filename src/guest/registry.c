#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "guest/guest.h"
#include "guest/registry.h"

static size_t
params(const Guest__Hello *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_tools; i++)
		n += h->tools[i]->n_params;
	return n;
}

static size_t
letters(const Guest__Hello *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_tools; i++) {
		const Guest__Tool *t = h->tools[i];

		n += strlen(t->name) + strlen(t->text) + 2;
		for (size_t k = 0; k < t->n_params; k++)
			n += strlen(t->params[k]->name) +
			    strlen(t->params[k]->text) + 2;
	}
	return n;
}

static const char *
copy(char **to, const char *text)
{
	const char *at = *to;

	*to = stpcpy(*to, text) + 1;
	return at;
}

static void
copy_param(struct guest_param *p, const Guest__Param *from, char **to)
{
	*p = (struct guest_param){
		.name = copy(to, from->name),
		.text = copy(to, from->text),
		.type = (enum arg_type)from->type,
		.min = from->min,
		.max = from->max,
		.optional = from->optional,
	};
}

void
registry_copy(struct registry *r, const Guest__Hello *h)
{
	size_t np = params(h);
	struct guest_tool *tool;
	struct guest_param *param;
	char *text;

	registry_free(r);
	tool = xcalloc(1,
	    h->n_tools * sizeof *tool + np * sizeof *param + letters(h));
	param = (struct guest_param *)(tool + h->n_tools);
	text = (char *)(param + np);
	for (size_t i = 0; i < h->n_tools; i++) {
		const Guest__Tool *from = h->tools[i];

		tool[i] = (struct guest_tool){
			.name = copy(&text, from->name),
			.text = copy(&text, from->text),
			.internal = from->internal,
			.param = param,
			.nparam = from->n_params,
		};
		for (size_t k = 0; k < from->n_params; k++)
			copy_param(param++, from->params[k], &text);
	}
	r->tool = tool;
	r->n = h->n_tools;
}

void
registry_free(struct registry *r)
{
	free(r->tool);
	*r = (struct registry){ 0 };
}
