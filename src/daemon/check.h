/*
 * check: whether a request makes sense and fits what the operator allows.
 *
 * The front has checked already; this does not count on it.  Pure: touches
 * nothing, opens nothing.
 */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct broker_build;
struct broker_name;
struct broker_record;
struct config;
struct err;

/* Limits that were left out become the operator's largest ones. */
int check_build(const struct config *, struct broker_build *, struct err *);
int check_name(const struct broker_name *, struct err *);
int check_record(const struct broker_record *, struct err *);
/* Terminated, and nothing behind the end. */
bool check_text(const char *, size_t room);
bool check_zero(const void *, size_t);

#endif
