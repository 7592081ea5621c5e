/*
 * openai: what OpenAI's two protocols, Responses and chat completions, share
 * when a run is told in their words.
 */
#ifndef ENGINE_OPENAI_H
#define ENGINE_OPENAI_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/event.h"

/* What of a growing text has been told; it may be replaced by another one. */
struct told {
	size_t len;
	uint64_t hash;
};
/* More was added. */
void told_add(struct told *, struct slice);
/*
 * The text is `whole` now: what a reader who has what was told must add to it.
 * Empty if there is nothing, or if it is not a continuation.
 */
struct slice told_more(struct told *, struct slice whole);

/* A part as escaped text, whatever its type: links for media, JSON for data. */
void openai_part_text(struct str *, const struct part *);
/* What a call or its output is about: its first part with data. */
struct slice openai_data(const struct message *);
/* A member of a call as escaped text, also when it is no string. */
void openai_member_text(struct str *, struct slice data, const char *name);

struct usage {
	int64_t input, output, total, cached, written, reasoning;
};
/* From whatever names a framework has for them; false: nothing is known. */
bool openai_usage(struct usage *, const char *json);

/* One of the codes that the Responses schema has. */
const char *openai_error_code(const char *code);

void put_text(struct str *, struct slice escaped); /* quoted */
void put_plain(struct str *, const char *text);    /* escaped and quoted */

#endif
