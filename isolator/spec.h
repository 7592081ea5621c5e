/*
 * spec: what the broker tells the first stage of a sandbox, on its control
 * socket: one SOCK_SEQPACKET datagram, a fixed struct, the seccomp program
 * behind it, and descriptors.
 *
 * The struct is data and decides nothing; spec_check() is what both ends agree
 * on.  After the spec only words with descriptors travel on control (enum
 * spec_word), towards the sandbox, and nothing ever back.
 */
#ifndef ISOLATOR_SPEC_H
#define ISOLATOR_SPEC_H

#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>

struct err;

#define SPEC_MAGIC 0x68757431u /* and the version of what follows */
#define SPEC_MOUNTS 12
#define SPEC_KEEP 8
#define SPEC_GROUPS 4
#define SPEC_FILTER 4096 /* instructions, the kernel's own bound */
#define SPEC_PATH 128

/* Where a descriptor goes; those present are sent in this order. */
enum spec_fd {
	SPEC_FD_ROOT,   /* detached mount */
	SPEC_FD_DEV,    /* detached mount */
	SPEC_FD_SYS,    /* detached mount */
	SPEC_FD_STREAM, /* the first stream */
	SPEC_FD_EXEC,   /* an executable, for profiles that are not the agent */
	SPEC_FD_MOUNT,  /* SPEC_MOUNTS of them, as in .mount */
	SPEC_FD_KEEP = SPEC_FD_MOUNT + SPEC_MOUNTS, /* become 3, 4, ... */
	SPEC_FD_GROUP = SPEC_FD_KEEP + SPEC_KEEP,   /* cgroup_doors() */
	SPEC_FDS = SPEC_FD_GROUP + SPEC_GROUPS
};

enum spec_mount_kind {
	SPEC_MOUNT_GIVEN, /* its descriptor is a detached mount */
	SPEC_MOUNT_TMPFS, /* made by the stage, .bytes large */
	SPEC_MOUNT_KINDS
};

enum { SPEC_READONLY = 1, SPEC_NOEXEC = 2, SPEC_PRIVATE = 4 };

struct spec_mount {
	char at[SPEC_PATH]; /* absolute, plain: no "." or ".." */
	uint64_t bytes;     /* 0: no bound */
	uint32_t kind, flags;
};

enum {
	SPEC_LOOPBACK = 1,      /* the network namespace is its own: lo up */
	SPEC_ROOT_READONLY = 2, /* remount / when all is in place */
	SPEC_PROC_PIDS = 4,     /* /proc shows processes only, read-only */
	SPEC_LANDLOCK = 8,      /* writing only below the writable mounts */
	SPEC_STDERR = 16, /* keep descriptor 2: one of our own processes */
	SPEC_ENTER = 32,  /* doors of groups only, and alone: comes once, before
			  * the spec or behind it */
	SPEC_FLAGS = 63
};

struct spec {
	uint32_t magic, flags;
	uint32_t fds;    /* bit n: spec_fd n is sent */
	uint32_t nofile; /* 0: as it is */
	uint64_t caps;   /* all sets; bounding too */
	uint16_t nmount, nkeep;
	uint16_t nfilter; /* instructions behind the struct */
	uint16_t argc, envc;
	uint16_t
	    exec_at; /* number of SPEC_FD_EXEC at the execveat; see stage */
	uint32_t pad;
	char hostname[64];
	char args[1024]; /* argc + envc strings, each with its NUL */
	struct spec_mount mount[SPEC_MOUNTS];
};

/* As received: fd[] holds -1 where none came. */
struct spec_in {
	struct spec spec;
	int fd[SPEC_FDS];
	struct sock_filter filter[SPEC_FILTER];
};

/* Everything that can be wrong with the struct alone. */
int spec_check(const struct spec *, struct err *);
/* An absolute path without "", "." and "..", not "/", nor at or below /proc,
 * /sys or /dev. */
int spec_path_check(const char *, struct err *);

/* fd[] as in spec_in; .fds is derived from it. */
int spec_send(int control, const struct spec *, const int fd[SPEC_FDS],
    const struct sock_filter *, struct err *);
/* Blocks until there is one.  -1 too when the broker is gone. */
int spec_recv(int control, struct spec_in *, struct err *);
void spec_drop(struct spec_in *); /* closes what nobody took */

/*
 * What may come after the spec: a stream's inner end, or a warm interpreter
 * that joins: the cells' socket and the one that tells its wait status.
 */
enum spec_word { SPEC_STREAM, SPEC_JOIN, SPEC_WORDS };

int spec_word_send(int control, enum spec_word, const int *fd, struct err *);
/* 1: *word and fd[] (both, for SPEC_JOIN) are yours; 0: nothing there now;
 * -1: broker gone, or nonsense. */
int spec_word_recv(int control, enum spec_word *, int fd[2], struct err *);

#endif
