/*
 * broker: what may be asked of the root process, and what it says.
 *
 * One SEQPACKET datagram each (link.h).  Bodies are these structs and nothing
 * else: both ends are built together, and the first reply repeats BROKER_BUILD
 * so that a mixed installation is noticed.  A reply has type BROKER_OK or
 * BROKER_ERR (its body a struct err) and the asker's call number; a message
 * with call 0 is the broker's own word (BROKER_EXITED).
 *
 * The broker checks every field again, though the asker has: hutch-privsep(7).
 * Text is NUL-terminated inside its array; unused bytes are zero.
 */
#ifndef WIRE_BROKER_H
#define WIRE_BROKER_H

#include <stdint.h>

#define BROKER_VERSION 2

enum broker_type {
	/* from the front */
	BROKER_LISTENERS = 1, /* once; reply: struct broker_hello, 5 fds */
	BROKER_LIVE,          /* struct broker_page; struct broker_live */
	BROKER_BUILD,         /* struct broker_build; broker_built, 2 fds */
	BROKER_ATTACH,        /* struct broker_id; broker_built, 2 fds */
	BROKER_JOIN,          /* struct broker_id; empty: a warm interpreter
			       * has set out, its agent knows */
	BROKER_STOP,          /* struct broker_id; empty, at once */
	BROKER_FREEZE,        /* struct broker_freeze; empty */
	BROKER_USAGE,         /* struct broker_id; struct broker_usage */
	BROKER_IMPORT,        /* struct broker_name; 2 fds */
	BROKER_EXPORT,        /* struct broker_name; 2 fds */
	BROKER_IMAGES,        /* empty; 1 fd */
	BROKER_IMAGE_RM,      /* struct broker_name; empty */
	/* from a fetcher */
	BROKER_STORE,  /* once; reply: struct broker_job, 2 fds */
	BROKER_COMMIT, /* struct broker_layer; empty */
	BROKER_RECORD, /* struct broker_record; empty */
	/* from root on this host, by BROKER_ADMIN_SOCKET */
	BROKER_LEND, /* 1 fd: a directory; struct broker_lent */
	/* from the front */
	BROKER_MODEL, /* empty; 1 fd: a stream to hutch-model, model.h */
	/* from the broker */
	BROKER_OK = 100,
	BROKER_ERR,
	BROKER_EXITED, /* to the front: struct broker_exited */
	BROKER_DRAIN,  /* to the front: empty; finish and leave */
	BROKER_RELOAD, /* to the front: 1 fd, the configuration as it is now;
			* to hutch-model: 1 fd, its lines of it */
	BROKER_STREAM, /* to hutch-model: 1 fd, its end of a stream */
};

/*
 * A SEQPACKET socket beside that of the native API, for uid 0 only.  What root
 * lends there, the front may name in BUILD for BROKER_LENT_SECONDS.
 */
#define BROKER_ADMIN_SOCKET "admin.sock"
#define BROKER_LENT_SECONDS 300

#define BROKER_ID 16 /* bytes of an internal id, random */
#define BROKER_LAYERS 128
#define BROKER_DIGEST 32 /* of a layer: its chain id, rootfs/image.h */
#define BROKER_MOUNTS 4
#define BROKER_STEPS 12

struct broker_id {
	uint8_t id[BROKER_ID];
};

/*
 * fds: the manager's TCP listener, the native UNIX listener, the configuration
 * as conf_print() wrote it (read it with conf_read), the front's own directory,
 * the agents' TCP listener.
 * Listeners are bound, listening and non-blocking.
 */
struct broker_hello {
	uint32_t version;
	uint32_t generation; /* of this front: 1, 2, ...; goes into Setup */
};

struct broker_page {
	uint32_t from;
};

#define BROKER_PAGE 256
struct broker_live {
	uint32_t total, n;
	struct broker_id at[BROKER_PAGE];
};

enum broker_net { BROKER_NET_NONE, BROKER_NET_NAT, BROKER_NETS };

struct broker_mount {
	char from[256]; /* host path, below one of mount_allow */
	char at[128];   /* absolute in the sandbox */
	uint8_t readonly;
	uint8_t pad[7];
};

struct broker_build {
	uint8_t id[BROKER_ID];
	char hostname[64];
	uint16_t nlayer, nmount;
	uint8_t net; /* enum broker_net */
	uint8_t hardened;
	uint8_t readonly; /* root */
	uint8_t pad;
	uint32_t pids, cpu_milli, nofile, io_weight; /* 0: no such limit */
	uint64_t memory, root_bytes, work_bytes, shm_bytes;
	char dir[256]; /* instead of layers: a host directory below mount_allow,
			* or "#" and the 32 hex digits of a lent one */
	struct broker_mount mount[BROKER_MOUNTS];
	uint8_t layer[BROKER_LAYERS][BROKER_DIGEST]; /* lowest first */
};

/* fds: the stream to the agent, and the pidfd of the sandbox's process 1. */
struct broker_built {
	uint32_t slot;
	uint32_t ipv4;                  /* network order; 0: none */
	uint32_t step_us[BROKER_STEPS]; /* enum backend_step */
};

struct broker_freeze {
	uint8_t id[BROKER_ID];
	uint32_t on;
};

struct broker_usage {
	uint64_t cpu_us, memory, memory_peak, memory_limit;
	uint64_t pids, pids_limit, oom_kills;
};

enum broker_end {
	BROKER_END_EXIT,   /* process 1 ended by itself: status is wait(2)'s */
	BROKER_END_STOP,   /* asked for by the front */
	BROKER_END_MEMORY, /* the group's memory limit */
	BROKER_ENDS
};

struct broker_exited {
	uint8_t id[BROKER_ID];
	uint32_t end; /* enum broker_end */
	int32_t status;
};

struct broker_lent {
	uint8_t handle[BROKER_ID]; /* in BUILD.dir as "#<32 hex digits>" */
};

/* An image's name as the user wrote it: "repo:tag", bounded, printable. */
struct broker_name {
	char name[256];
};

/*
 * IMPORT fds: write end for the tar stream (close it when all is sent), read
 * end for the fetcher's lines.  EXPORT: read ends of both.  A line is
 * "progress TEXT", "error CODE TEXT" or "done TEXT"; it is a stranger's word.
 */

/*
 * STORE fds: the staging directory (yours), the directory of all layers; when
 * exporting, the merged tree and the tar's end (a second one, close it).
 * Layers are read (a layer is made in view of those below it) and locked with
 * flock, never written.
 */
struct broker_job {
	uint32_t version;
	uint32_t export; /* else import */
	char name[256];
};

/* Staging entry "layer-<64 hex>" becomes the layer of that id.  A layer that
 * is there already stays, and that is success. */
struct broker_layer {
	uint8_t digest[BROKER_DIGEST];
};

/* Staging entry "record.json" becomes the record of this image. */
struct broker_record {
	char name[256];
	uint32_t nlayer, pad;
	uint8_t layer[BROKER_LAYERS][BROKER_DIGEST]; /* lowest first */
};

#endif
