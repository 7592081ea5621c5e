#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "json/jtext.h"
#include "web/environ.h"

void
environ_free(struct environ_list *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->at[i]);
	free(e->at);
	*e = (struct environ_list){ 0 };
}

/* The in-box token and upstream's proxy are none of the client's business. */
static bool
reserved(const char *name)
{
	return strcmp(name, "SECRET_TOKEN") == 0 ||
	    strcmp(name, "NGINX_TIMEOUT") == 0;
}

static int
add(struct environ_list *e, const char *name, const json_t *v, struct err *err)
{
	auto_str struct str text = { 0 };
	size_t n;
	const char *s = jtext_string(v, &n);

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return err_set(err, ERR_DENIED,
		    "environment: '%s' is no variable's name", name);
	if (json_is_null(v) || json_is_object(v) || json_is_array(v))
		return err_set(err, ERR_DENIED,
		    "environment: the value of '%s' must be text", name);
	if (s != NULL)
		str_add(&text, s, n);
	else if (json_is_boolean(v))
		str_puts(&text, json_is_true(v) ? "True" : "False");
	else
		jtext_write(&text, v);
	if (strlen(str_text(&text)) != text.len)
		return err_set(err, ERR_DENIED,
		    "environment: the value of '%s' holds a NUL", name);
	e->at[e->n++] = xasprintf("%s=%s", name, str_text(&text));
	return 0;
}

int
environ_read(struct environ_list *e, const json_t *v, struct err *err)
{
	const char *name;
	json_t *value;

	if (v == NULL || json_is_null(v) ||
	    (json_is_array(v) && json_array_size(v) == 0))
		return 0;
	if (!json_is_object(v))
		return err_set(err, ERR_INVALID,
		    "environment must be an object");
	e->at = xcalloc(json_object_size(v) + 1, sizeof *e->at);
	json_object_foreach((json_t *)(uintptr_t)v, name, value)
		if (!reserved(name) && add(e, name, value, err) < 0)
			return -1;
	return 0;
}
