/*
 * list: several values in one text, commas or lines between.
 *
 * Also takes the list and the mapping that JSON writes, without escapes.
 */
#ifndef CONF_LIST_H
#define CONF_LIST_H

#include <stdbool.h>

struct conf_list;

enum list_item {
	LIST_NONE,
	LIST_TEXT,
	LIST_WORD, /* one of words */
	LIST_PATH, /* absolute */
	LIST_BIND, /* /HOST:/INSIDE */
	LIST_ENV,  /* NAME=VALUE; not split at commas */
	LIST_LINE, /* any text; not split */
	LIST_HEAD  /* Name: value; not split */
};

#define LIST_TEXT_MAX 170 /* so that a printed line is never cut */

void list_free(struct conf_list *);
/* -1: something in it is not such an item; what was added stays. */
int list_add(struct conf_list *, enum list_item, const char *words,
    const char *text);
/* Text that survives being written to a file and read again. */
bool list_printable(const char *text);
bool list_has_word(const char *words, const char *word);

#endif
