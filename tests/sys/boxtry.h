/* What the parts of boxtry share. */
#ifndef TESTS_SYS_BOXTRY_H
#define TESTS_SYS_BOXTRY_H

#include <stdint.h>

struct err;
struct host;
struct instance;
struct str;

extern struct host *try_host;

/* One line of reply each. */
int try_ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int try_bad(const struct err *);
int try_bad_text(const char *);

int try_start(const char *name, char *options, struct instance *, struct err *);
int try_send_command(int fd, const char *line);
/* 0 with the status in *status; -1 the stream ended; -2 out of time */
int try_collect(int fd, int64_t end, struct str *out, int *status);

int try_confined(const char *profile, char *rest);
int try_bench(const char *count, char *rest);
int try_peer(const char *count, char *rest);

#endif
