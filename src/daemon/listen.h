/*
 * listen: the sockets that others find us by.
 */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include <stdint.h>
#include <sys/types.h>

struct err;

/* A numeric address; *port is the one it got if 0 was asked for; option names
 * it in an error. */
int listen_tcp(const char *host, uint16_t *port, const char *option,
    struct err *);
/* type: SOCK_STREAM, SOCK_SEQPACKET.  A stale socket is replaced; of group
 * (-1: nobody's) if mode lets it in. */
int listen_unix(const char *path, int type, mode_t mode, gid_t group,
    struct err *);
/* Of a local group, by /etc/group alone; -1: there is none. */
gid_t listen_group(const char *name);

#endif
