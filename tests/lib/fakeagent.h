/*
 * fakeagent: the other end of a guest's stream, for tests.
 *
 * Says Hello, runs the tools of a table, and can be told to break every rule.
 * One process, the test's loop; blocking never.
 */
#ifndef TESTS_LIB_FAKEAGENT_H
#define TESTS_LIB_FAKEAGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "guest.pb-c.h"

struct fakeagent;
struct loop;
struct str;

struct fakecall {
	struct fakeagent *agent;
	uint32_t number;
	const char *tool;
	const Guest__Call *call; /* as it came; arguments whole */
	void *data;              /* the tool's own; freed with free() */
	uint32_t credit;         /* output it may send */
	uint64_t input;          /* bytes of input that came */
};

struct faketool {
	const char *name; /* NULL ends the table */
	bool internal;
	const char *param; /* one required text parameter; NULL: none */
	void (*run)(struct fakecall *);
	/* NULL: what comes is dropped.  bytes NULL: the end of the input. */
	void (*input)(struct fakecall *, const uint8_t *bytes, size_t n);
	/* NULL: answers Done at once. */
	void (*cancel)(struct fakecall *);
	void (*credit)(struct fakecall *);
};

struct fakeagent_conf {
	struct loop *loop;
	int fd; /* taken */
	const struct faketool *tool;
	bool silent; /* no Hello by itself */
	void *arg;   /* fakeagent_arg() */
};

struct fakeagent *fakeagent_new(const struct fakeagent_conf *);
void fakeagent_free(struct fakeagent *); /* the stream ends */
void *fakeagent_arg(const struct fakeagent *);
/* What fs_tar gives and fs_untar takes; see fakeagent_tools. */
struct str *fakeagent_workspace(struct fakeagent *);

/* Text of an argument, "" if absent. */
const char *fakecall_text(const struct fakecall *, const char *name);
void fakecall_output(struct fakecall *, int stream, const void *, size_t n);
void fakecall_puts(struct fakecall *, int stream, const char *);
void fakecall_entry(struct fakecall *, const char *path, int type);
void fakecall_want(struct fakecall *, uint32_t bytes); /* credit for input */
/* exit < -1000: none.  code 0: fine.  The call is dead after it. */
void fakecall_done(struct fakecall *, int exit, int code, const char *text);

/* What was set up last. */
uint32_t fakeagent_generation(const struct fakeagent *);
const char *fakeagent_env(const struct fakeagent *, const char *name);
unsigned fakeagent_calls(const struct fakeagent *); /* running */
struct fakecall *fakeagent_call(struct fakeagent *, uint32_t number);
uint32_t fakeagent_last(const struct fakeagent *); /* number of the last Call */
void fakeagent_hello(struct fakeagent *, uint32_t generation);
/* Anything at all. */
void fakeagent_send(struct fakeagent *, const Guest__Event *);
void fakeagent_raw(struct fakeagent *, const void *, size_t n);

/* Tools that most tests can do with: see fakeagent.c. */
extern const struct faketool fakeagent_tools[];

#endif
