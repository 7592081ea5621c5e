/*
 * spec: what somebody says of an agent when it is deployed, checked.
 *
 * From a JSON object by a table; the same object is what the journal keeps.
 * Knows no worker and no file.
 */
#ifndef ENGINE_SPEC_H
#define ENGINE_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct config;
struct err;

#define SPEC_NAME_MAX 31

struct spec {
	json_t *json; /* what it was made of */
	char *name;
	char *title, *description, *path; /* "": as its own code says */
	char *type, *image, *net;         /* of its sandboxes; type "app" */
	char *entry;     /* FILE[:APP] in the code; "": found */
	char **command;  /* instead of Python; NULL */
	char **env;      /* NAME=value; NULL: none */
	json_t *options; /* for init; NULL: none; borrowed */
	uint32_t processes, max_runs, run_timeout, keep;
	char *on_disconnect;
};

/* The name is the path's, not the object's.  o's reference is taken when it
 * succeeds. */
struct spec *spec_read(const char *name, json_t *o, const struct config *,
    struct err *);
void spec_free(struct spec *);
bool spec_name_ok(const char *);
bool spec_path_ok(const char *);

#endif
