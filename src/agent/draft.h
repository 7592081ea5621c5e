/*
 * draft: calls whose arguments are still arriving.
 *
 * Arguments longer than a frame come in several: an argument that has the name
 * of the last one continues its text.  Bounded in number and in bytes.
 */
#ifndef AGENT_DRAFT_H
#define AGENT_DRAFT_H

#include <stdint.h>
#include <sys/queue.h>
#include "agent/tool.h"
#include "guest.pb-c.h"

struct call_limits;
struct draft;
struct err;

#define DRAFTS_MAX 64
#define DRAFT_BYTES (128UL * 1024 * 1024)

struct drafts {
	LIST_HEAD(, draft) list;
	unsigned n;
};

/* Begins or continues the draft of this number. */
struct draft *drafts_add(struct drafts *, uint32_t number, const Guest__Call *,
    struct err *);
void drafts_drop(struct drafts *, struct draft *);
void drafts_clear(struct drafts *);

const char *draft_tool(const struct draft *);
const struct call_limits *draft_limits(const struct draft *);
/* Points into the draft. */
struct args draft_args(struct draft *);

#endif
