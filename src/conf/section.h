/*
 * section: the kinds of named sections, as a table over struct config.
 *
 * Each is an array of structs that begin with their name, [WORD NAME] in the
 * file; the options of one are those of its scope.
 */
#ifndef CONF_SECTION_H
#define CONF_SECTION_H

#include <stddef.h>
#include "conf/option.h"

struct config;
struct err;

/* A scope's array; the main options are no section. */
const char *section_word(enum option_scope); /* "tenant"; NULL: none */
size_t section_count(const struct config *, enum option_scope);
/* i < count; begins with char *name */
void *section_nth(const struct config *, enum option_scope, size_t i);
void *section_named(const struct config *, enum option_scope, const char *name);
/* The same, made with its defaults if it is new; NULL: too many. */
void *section_at(struct config *, enum option_scope, const char *name);
/* "" or "WORD NAME" to the struct its options live in; NULL and err. */
void *section_base(struct config *, const char *section, enum option_scope *,
    struct err *);
void section_defaults(enum option_scope, void *base);
void section_free(struct config *, enum option_scope);

#endif
