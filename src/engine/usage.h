/*
 * usage: what the messages of a run have used, added up.
 */
#ifndef ENGINE_USAGE_H
#define ENGINE_USAGE_H

#include <stddef.h>

struct message;
struct str;

/*
 * Numbers are added, objects member by member; of everything else the last one
 * stands.  Nothing is added to out when no message says what it has used.
 */
void usage_sum(struct str *out, const struct message *const *, size_t n);

#endif
