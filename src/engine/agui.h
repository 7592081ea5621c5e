/*
 * agui: what the two files of AG-UI's encoder share: what has begun, and how
 * an event is printed.  For reply_agui.c and reply_agui_part.c only.
 */
#ifndef ENGINE_AGUI_H
#define ENGINE_AGUI_H

#include <jansson.h>
#include "engine/event.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply.h"

enum agui_shows { AS_TEXT, AS_REASONING, AS_CALL };

struct agui_open { /* something that has begun and must be ended */
	unsigned message, part;
	enum agui_shows as;
	bool begun, ended;
	char id[72];
	struct str call;         /* AS_CALL: its id, escaped */
	struct str said, before; /* AS_CALL: of its arguments */
};

struct agui {
	struct reply reply;
	bool modern;
	char *parent_run;
	struct agui_open **open;
	unsigned nopen, again; /* again: to tell reopened messages apart */
	/* The assistant message that calls belong to, escaped; "" a new one. */
	char holder[72];
	enum run_status end;
	uint64_t seq; /* of AG-UI's events: ours make several, or none */
};

/* The text of an event as far as its type; NULL: nobody reads it. */
struct str *agui_begin(struct agui *, struct feed *, const char *type);
void agui_end(struct feed *, struct str *);
/* ,"name":"value", value being escaped already */
void agui_member(struct str *, const char *name, const char *value, size_t n);
void agui_member_plain(struct str *, const char *name, const char *text);
void agui_member_json(struct str *, const char *name, const json_t *);
/* What this part of this message has begun, or may begin. */
struct agui_open *agui_open_of(struct agui *, const struct event *,
    enum agui_shows);
void agui_open_drop(struct agui *, struct agui_open *);
void agui_say_end(struct agui *, struct feed *, struct agui_open *);

/* A part that is no text. */
void agui_data_event(struct agui *, struct feed *, const struct event *);
void agui_media_event(struct agui *, struct feed *, const struct event *);

#endif
