/*
 * deps: what an agent's code requires, installed once and kept as a tar.
 *
 * requirements.txt or pyproject.toml at the top of the code is handed to uv (or
 * pip) in a sandbox of its own; what comes out is kept under a name made of
 * what went in, so that the next version, and the next start, need no network.
 */
#ifndef ENGINE_DEPS_H
#define ENGINE_DEPS_H

struct code;
struct deployment;
struct err;
struct installing;
struct version;

/*
 * code: held for the receiver; NULL: nothing is required, or why.  From within
 * deps_get when it is known at once; then that returns NULL.
 */
typedef void deps_fn(void *arg, struct code *, const struct err *why);
struct installing *deps_get(struct deployment *, const struct version *,
    deps_fn *, void *arg);
void deps_cancel(struct installing *); /* fn won't be called; NULL: nothing */

#endif
