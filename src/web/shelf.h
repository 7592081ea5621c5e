/*
 * shelf: Responses that somebody may ask for again: those that go on, those
 * that have just ended and whose stream can still be read, and, on disk, those
 * that were stored.
 *
 * A response is of one tenant; to all others it is not there.  Knows the shape
 * of responses and of their items, and no HTTP.
 */
#ifndef WEB_SHELF_H
#define WEB_SHELF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct ask_fault;
struct err;
struct loop;
struct run;
struct shelf;
struct str;

/* Bytes of a stream that are kept for who reads it later. */
#define SHELF_STREAM (1024 * 1024)

/* dir: where the store lies; NULL: in memory alone. */
struct shelf *shelf_new(struct loop *, const char *dir, struct err *);
void shelf_free(struct shelf *);

/* Whose responses; agent "": of any. */
struct shelf_who {
	const char *tenant, *agent;
};

struct shelf_ask {
	const char *tenant;
	struct run *run;          /* its reply is reply_responses */
	const char *conversation; /* "": none */
	json_t *input;            /* items, with ids; a reference is taken */
	bool background; /* stored from the first, and its stream is kept */
};
/* From now on; it is stored when it is over. */
void shelf_add(struct shelf *, const struct shelf_ask *);

/* One that goes on, or whose stream is kept; NULL: there is none. */
struct run *shelf_run(struct shelf *, const struct shelf_who *, const char *id);
/* 1: its JSON, as it stands; 0: there is none; -1: err. */
int shelf_get(struct shelf *, const struct shelf_who *, const char *id,
    struct str *json, struct err *);
/* 1: its input's items, a new reference. */
int shelf_input(struct shelf *, const struct shelf_who *, const char *id,
    json_t **items, struct err *);
/* 1: gone; one that goes on is stopped. */
int shelf_delete(struct shelf *, const struct shelf_who *, const char *id,
    struct err *);

/*
 * The items that stand before this request's own, by previous_response_id or
 * conversation; *items is NULL if there are none.  -1: a fault.
 */
int shelf_history(struct shelf *, const char *tenant, const json_t *request,
    json_t **items, struct ask_fault *);
/* Puts items in the place of references to them. */
int shelf_resolve(struct shelf *, const char *tenant, json_t *request,
    struct ask_fault *);

#endif
