/*
 * event: what happens in a run, as every outward protocol is told of it.
 *
 * One type, whoever produces it (a worker's lines, the built-in agent) and
 * whoever prints it (reply.h).  Plain data, valid during the call that hands
 * it over; what points into a run stays good as long as the run does.
 *
 * Text is *escaped text*: the inside of a JSON string, valid UTF-8, U+0085,
 * U+2028, U+2029 and all that JSON wants escaped already escaped, so that
 * printing it is copying it.  Pieces may be joined.  Values are JSON texts that
 * were made by us (compact, checked).  Wire: spec aaas-api 2.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct slice {
	const char *at;
	size_t len;
};

enum run_status {
	RUN_CREATED,
	RUN_IN_PROGRESS,
	RUN_COMPLETED,
	RUN_CANCELED,
	RUN_FAILED,
	RUN_REJECTED,
	RUN_QUEUED,
	RUN_INCOMPLETE,
	RUN_STATUSES
};
const char *run_status_name(enum run_status); /* "in_progress", ... */
int run_status_parse(const char *);           /* -1: none of them */

enum part_type {
	PART_TEXT,
	PART_REFUSAL,
	PART_DATA,
	PART_IMAGE,
	PART_AUDIO,
	PART_VIDEO,
	PART_FILE,
	PART_TYPES
};
#define PART_FIELDS 4

/* The table of spec 2.4: what a part of each type has, in this order. */
struct part_kind {
	const char *name;
	const char *field[PART_FIELDS + 1]; /* NULL-ended */
	bool grows; /* its one field is escaped text, and has deltas */
};
extern const struct part_kind part_kinds[PART_TYPES];
int part_type_parse(const char *); /* -1: none of them */

/* Moves when its message gets another one: keep its index, not its address. */
struct part {
	enum part_type type;
	unsigned index; /* its place in the message: 0, 1, ... */
	int given;      /* what the source calls that place; -1: nothing */
	bool delta;     /* came in deltas */
	bool completed; /* false for good: cut short with its message */
	uint64_t seq;   /* of its EV_PART_END */
	/*
	 * grows: [0] is escaped text, all of it so far.  Else JSON values by
	 * the kind's fields; an empty one is null.
	 */
	struct str field[PART_FIELDS];
};

/* Types that encoders tell apart; others are MSG_OTHER and have their name. */
enum message_kind {
	MSG_MESSAGE,
	MSG_REASONING,
	MSG_PLUGIN_CALL,
	MSG_PLUGIN_CALL_OUTPUT,
	MSG_FUNCTION_CALL,
	MSG_FUNCTION_CALL_OUTPUT,
	MSG_COMPONENT_CALL,
	MSG_COMPONENT_CALL_OUTPUT,
	MSG_MCP_LIST_TOOLS,
	MSG_MCP_APPROVAL_REQUEST,
	MSG_MCP_APPROVAL_RESPONSE,
	MSG_MCP_CALL,
	MSG_MCP_CALL_OUTPUT,
	MSG_HEARTBEAT,
	MSG_ERROR,
	MSG_OTHER,
	MSG_KINDS
};
enum message_kind message_kind_of(const char *type);

struct message {
	char id[48]; /* "msg_" and a UUID */
	enum message_kind kind;
	char type[40]; /* its name */
	char role[12]; /* assistant, user, system, tool; "" null */
	enum run_status status;
	unsigned number; /* 0, 1, ... in the order they were announced */
	struct str usage, metadata; /* JSON objects; empty: null */
	struct str code, text;      /* of an error message: escaped text */
	struct part *part;
	unsigned nparts;
	uint64_t seq; /* of its last event */
};

/* True of a run from its first event to its last. */
struct run_facts {
	const char *id;         /* "response_" and a UUID, or the client's */
	const char *session_id; /* never "" */
	const char *user_id;    /* never "" */
	int64_t created_at;     /* seconds since 1970 */
	const char *agent;      /* its name */
	const char *model;      /* as asked for; "" none */
};

enum event_kind {
	EV_CREATED,
	EV_STARTED,
	EV_MESSAGE, /* message is announced; it has no part yet */
	EV_DELTA,   /* text is added to part */
	EV_VALUE,   /* part has this value now; more may come */
	/*
	 * Part is complete, or as complete as it will be: each part of a
	 * message has one, before the message's own.  It may be all that is
	 * ever heard of a part (a value that came whole).
	 */
	EV_PART_END,
	EV_MESSAGE_END, /* so is message: see its status */
	EV_END          /* the run is over; always the last */
};

struct event {
	enum event_kind kind;
	uint64_t seq; /* from 0, no gaps */
	const struct run_facts *run;
	const struct message *message;
	const struct part *part;
	/*
	 * Of a part that grows, escaped text.  EV_DELTA: what is added.
	 * EV_VALUE, EV_PART_END: what was not told by deltas yet, for protocols
	 * that have only these; .at NULL when the value was replaced by one
	 * that does not go on from the old.
	 */
	struct slice text;
	/* EV_END: */
	enum run_status status;
	const char *code, *why; /* of a failure: plain text; else NULL */
	const char *usage;      /* JSON object, or NULL */
	int64_t now_s;          /* when: seconds since 1970 */
	/* all that ended, in that order, but for heartbeats */
	const struct message *const *output;
	size_t noutput;
};

#endif
