/*
 * sock: the bytes to and from one stream socket.
 *
 * Buffers what is written, offers what is read, and says how it ended.
 * Callbacks come from the loop only; none comes after sock_free.  Knows no
 * protocol and has no deadlines.
 */
#ifndef WEB_SOCK_H
#define WEB_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct sock;

struct sock_calls {
	/* Returns how much of it was used; the rest waits for sock_pump. */
	size_t (*input)(void *arg, const uint8_t *, size_t n);
	void (*eof)(void *arg);  /* the peer will send no more */
	void (*sent)(void *arg); /* the backlog is at or below sock_low */
	void (*failed)(void *arg, int error);
};

/* fd: connected and non-blocking; taken.  Not reading yet. */
struct sock *sock_new(struct loop *, int fd, const struct sock_calls *,
    void *arg);
void sock_free(struct sock *);  /* closes */
void sock_reset(struct sock *); /* sock_free shall reset the connection */
void sock_reading(struct sock *, bool on);
void sock_pump(struct sock *); /* offer what waits; from the loop only */
size_t sock_waiting(const struct sock *); /* read, not used */
void sock_write(struct sock *, const void *, size_t n);
size_t sock_backlog(const struct sock *); /* written, not yet taken */
void sock_low(struct sock *, size_t low);
int64_t sock_sent_at(const struct sock *); /* when the backlog last moved */
void sock_shut(struct sock *);             /* no more will be written */
bool sock_gone(const struct sock *); /* reset, though we may not be reading */

#endif
