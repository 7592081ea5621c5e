/*
 * trail: what was done in each sandbox, a line each, the newest kept.
 *
 * In memory and bounded, for `hutch logs`: that a call was made, how it ended,
 * how long it took and how much it printed; never what it was or printed.
 */
#ifndef WEB_TRAIL_H
#define WEB_TRAIL_H

#include <stddef.h>
#include <stdint.h>

struct str;
struct trail_reader;
struct trails;
struct work_outcome;

struct trails *trails_new(void);
void trails_free(struct trails *);

/* key: sandbox_key(). */
void trail_say(struct trails *, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void trail_call(struct trails *, const struct work_outcome *, const char *tool,
    int64_t started_ms);
/* "2026-11-30T20:22:44.992Z " */
void trail_stamp(struct str *out, double unix_seconds);
void trail_read(const struct trails *, const char *key, struct str *out);

/* Each line as it comes, from within trail_say; until trail_unfollow. */
typedef void trail_fn(void *arg, const char *line, size_t n);
struct trail_reader *trail_follow(struct trails *, const char *key, trail_fn *,
    void *arg);
void trail_unfollow(struct trail_reader *);

#endif
