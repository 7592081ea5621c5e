/*
 * value: text to a typed field of a struct, and back.
 *
 * A rule says what a field holds and what it takes; everything else (parsing,
 * printing, the sentence of an error) follows from it.  Knows no option by
 * name and no file.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct str;

enum value_kind {
	VALUE_TEXT,   /* char *; min..max characters */
	VALUE_SECRET, /* char *; never quoted in an error, never printed */
	VALUE_PATH,   /* char *; absolute, or empty if min is 0 */
	VALUE_WORD,   /* char *; one of words */
	VALUE_BOOL,   /* bool */
	VALUE_PORT,   /* uint16_t */
	VALUE_COUNT,  /* uint32_t */
	VALUE_SIZE,   /* uint64_t bytes: 2GiB, 64MiB, 500KB, 4096 */
	VALUE_TIME,   /* uint32_t seconds: 90, 90s, 10min, 2h, 1d, off */
	VALUE_CPU,    /* uint32_t thousandths: 1, 0.5, 2.25 */
	VALUE_SHA256, /* uint8_t [32] */
	/* struct conf_list */
	VALUE_TEXTS,  /* any text without commas */
	VALUE_WORDS,  /* some of words */
	VALUE_PATHS,  /* absolute paths */
	VALUE_BINDS,  /* /host:/inside */
	VALUE_ENVS,   /* NAME=VALUE, one a line */
	VALUE_LINES,  /* any text, one a line */
	VALUE_HIDDEN, /* Name: value, one a line; as a secret is kept */
	/* no field */
	VALUE_IDLE, /* accepted, without effect */
	VALUE_ONLY, /* one of words is accepted; the rest is refused */
	VALUE_KINDS
};

struct value_rule {
	enum value_kind kind;
	uint64_t min, max;
	const char *words; /* space between */
};

#define VALUE_TEXT_MAX 170 /* as in list.h */

/* Fails with "takes ..., not ..."; then the field is as it was. */
int value_set(const struct value_rule *, void *at, const char *text,
    struct err *);
bool value_is_list(const struct value_rule *);
/* Lists: keep what is there. */
int value_add(const struct value_rule *, void *at, const char *text,
    struct err *);
/* "name = value" line or lines; nothing for a secret or no field. */
void value_print(const struct value_rule *, const void *at, const char *name,
    FILE *);
void value_free(const struct value_rule *, void *at);
void value_swap(const struct value_rule *, void *a, void *b);
bool value_same(const struct value_rule *, const void *a, const void *b);
/* "a number from 0 to 65535" */
void value_takes(const struct value_rule *, struct str *);

#endif
