#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/ask.h"
#include "json/jtext.h"
#include "store/responses.h"
#include "web/shelf.h"
#include "web/shelf_int.h"

#define MOST_TURNS 100
#define MOST_BYTES (8u << 20)     /* of the JSON of all of them */
#define MOST_REFERRED (32u << 20) /* read for references to items */

/* What went before, collected newest first or oldest first. */
struct past {
	json_t *items;
	size_t bytes;
	bool in_front; /* each turn is put before those that are there */
	bool cut;      /* there is more than may be */
	char previous[132];
};

static void
take_turn(void *arg, const struct response_row *r)
{
	struct past *p = arg;
	json_t *body, *turn, *output;
	const char *previous;
	struct err err;

	p->bytes += strlen(r->body) + strlen(r->input);
	p->previous[0] = '\0';
	if (p->bytes > MOST_BYTES) {
		p->cut = true;
		return;
	}
	body = jtext_read(r->body, strlen(r->body), NULL, &err);
	turn = jtext_read(r->input, strlen(r->input), NULL, &err);
	output = json_object_get(body, "output");
	previous =
	    json_string_value(json_object_get(body, "previous_response_id"));
	if (previous != NULL)
		snprintf(p->previous, sizeof p->previous, "%s", previous);
	if (json_is_array(turn) && json_is_array(output))
		json_array_extend(turn, output);
	if (p->in_front && json_is_array(turn)) {
		json_array_extend(turn, p->items);
		json_decref(p->items);
		p->items = json_incref(turn);
	} else if (json_is_array(turn)) {
		json_array_extend(p->items, turn);
	}
	json_decref(turn);
	json_decref(body);
}

static int
unknown(struct ask_fault *f, const char *id)
{
	ask_value(f, "previous_response_id",
	    "There is no response '%.80s' any more, or there never was.", id);
	f->code = "previous_response_not_found";
	return -1;
}

static int
storage(struct ask_fault *f, const struct err *err)
{
	ask_value(f, "previous_response_id", "%.200s", err->text);
	f->code = "server_error";
	return -1;
}

/* From the last one back to the first. */
static int
chain(struct shelf *s, const char *tenant, const char *id, struct past *p,
    struct ask_fault *f)
{
	struct err err;
	char next[132];
	int n;

	snprintf(next, sizeof next, "%s", id);
	p->in_front = true;
	for (int turn = 0; turn < MOST_TURNS && next[0] != '\0'; turn++) {
		if (shelf_goes_on(s, tenant, next))
			return ask_value(f, "previous_response_id",
			    "The response '%.80s' is still in progress.", next);
		n = responses_get(shelf_store(s), tenant, next, take_turn, p,
		    &err);
		if (n < 0)
			return storage(f, &err);
		if (n == 0)
			return turn == 0 ? unknown(f, next) : 0;
		memcpy(next, p->previous, sizeof next);
	}
	return 0;
}

int
shelf_history(struct shelf *s, const char *tenant, const json_t *request,
    json_t **items, struct ask_fault *f)
{
	const char *previous = json_string_value(
		       json_object_get(request, "previous_response_id")),
		   *talk = ask_conversation(request);
	struct past p = { .items = json_array() };
	struct err err;
	int rc = 0;

	if (previous != NULL)
		rc = chain(s, tenant, previous, &p, f);
	else if (*talk != '\0' &&
	    responses_conversation(shelf_store(s), tenant, talk, MOST_TURNS,
		take_turn, &p, &err) < 0)
		rc = storage(f, &err);
	if (rc == 0 && p.cut)
		rc = ask_value(f,
		    previous != NULL ? "previous_response_id" : "conversation",
		    "What was said before is more than %u MiB: begin anew.",
		    MOST_BYTES >> 20);
	if (rc < 0 || json_array_size(p.items) == 0) {
		json_decref(p.items);
		p.items = NULL;
	}
	*items = p.items;
	return rc;
}

/* ---- references to items ---- */

#define LOOK_BYTES 4096 /* what looking for one costs, if nothing is found */

struct wanted {
	const char *id;
	json_t *item;
	size_t bytes; /* read for all of a request's */
};

static json_t *
find_in(const json_t *list, const char *id)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name =
		    json_string_value(json_object_get(item, "id"));

		if (name != NULL && strcmp(name, id) == 0)
			return json_incref(item);
	}
	return NULL;
}

static void
find_item(void *arg, const struct response_row *r)
{
	struct wanted *w = arg;
	struct err err;
	json_t *body = jtext_read(r->body, strlen(r->body), NULL, &err),
	       *input = jtext_read(r->input, strlen(r->input), NULL, &err);

	w->bytes += strlen(r->body) + strlen(r->input);
	w->item = find_in(json_object_get(body, "output"), w->id);
	if (w->item == NULL)
		w->item = find_in(input, w->id);
	json_decref(input);
	json_decref(body);
}

/* The id that an item refers to; NULL: it is an item itself. */
static const char *
reference(const json_t *item)
{
	const char *type = json_string_value(json_object_get(item, "type"));
	const char *id = json_string_value(json_object_get(item, "id"));

	if (type != NULL ? strcmp(type, "item_reference") == 0
			 : id != NULL && json_object_get(item, "role") == NULL)
		return id;
	return NULL;
}

/*
 * An item's id is PREFIX_X_N, of the response X or resp_X (item_name,
 * ask_responses_input).  -1: err.
 */
static int
find_reference(struct shelf *s, const char *tenant, struct wanted *w,
    struct err *err)
{
	static const char *const prefix[] = { "resp_", "" };
	const char *from = strchr(w->id, '_'), *to = strrchr(w->id, '_');
	char name[96];

	if (from == NULL || to == from || to - from > 80)
		return 0;
	for (int i = 0; i < 2 && w->item == NULL; i++) {
		snprintf(name, sizeof name, "%s%.*s", prefix[i],
		    (int)(to - from - 1), from + 1);
		if (responses_get(shelf_store(s), tenant, name, find_item, w,
			err) < 0)
			return -1;
	}
	return 0;
}

int
shelf_resolve(struct shelf *s, const char *tenant, json_t *request,
    struct ask_fault *f)
{
	json_t *input = json_object_get(request, "input"), *item;
	struct wanted w = { 0 };
	struct err err;
	size_t i;

	if (!json_is_array(input))
		return 0;
	json_array_foreach(input, i, item) {
		w.id = reference(item);
		w.item = NULL;
		if (w.id == NULL)
			continue;
		/* All others wait meanwhile. */
		w.bytes += LOOK_BYTES;
		if (w.bytes > MOST_REFERRED)
			return ask_value(f, "input",
			    "What is referred to stands in more than %u MiB.",
			    MOST_REFERRED >> 20);
		if (find_reference(s, tenant, &w, &err) < 0)
			return storage(f, &err);
		if (w.item != NULL)
			json_array_set_new(input, i, w.item);
		/* else the item's own check says that there is none */
	}
	return 0;
}
