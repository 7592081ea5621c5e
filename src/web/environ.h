/*
 * environ: a JSON object of variables as "NAME=value" for a sandbox.
 */
#ifndef WEB_ENVIRON_H
#define WEB_ENVIRON_H

#include <jansson.h>
#include <stddef.h>

struct err;

struct environ_list {
	char **at; /* NULL-ended; NULL: none */
	size_t n;
};

/*
 * Absent, null and an empty array are none.  Numbers and booleans are printed
 * as Python prints them.  ERR_INVALID: it is no object; ERR_DENIED: a variable
 * in it can't be one.  Free it in either case.
 */
int environ_read(struct environ_list *, const json_t *, struct err *);
void environ_free(struct environ_list *);

#endif
