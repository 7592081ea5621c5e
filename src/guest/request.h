/*
 * request: what the front says to the agent, as frames added to a str.
 *
 * Pure: no I/O, no state.  Only a Call can be too large for its frame: long
 * texts go over several (guest.proto, Call.more); a list can't.
 */
#ifndef GUEST_REQUEST_H
#define GUEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct guest_conf;
struct guest_request;
struct str;

#define REQUEST_ARGS 16
#define REQUEST_TEXT (64u << 20)  /* all the arguments of a call */
#define REQUEST_PIECE (64 * 1024) /* of input or of a long text */

/* Generation, environment and directory of conf.  -1: it fits no frame. */
int request_setup(struct str *, const struct guest_conf *, struct err *);
/* On failure nothing has been added. */
int request_call(struct str *, uint32_t call, const struct guest_request *,
    uint32_t credit, struct err *);
void request_input(struct str *, uint32_t call, const void *, size_t n,
    bool eof); /* n <= REQUEST_PIECE */
void request_credit(struct str *, uint32_t call, uint32_t bytes);
void request_cancel(struct str *, uint32_t call);
void request_detach(struct str *, uint32_t call);
void request_resize(struct str *, uint32_t call, unsigned rows, unsigned cols);

#endif
