/*
 * config: the configuration itself, as everybody reads it.
 *
 * Plain data; conf.h makes, reads and frees it.
 */
#ifndef CONF_CONFIG_H
#define CONF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_TENANTS 256
#define CONF_TYPES 32
#define CONF_LIST 32

struct conf_list { /* comma-separated in the file */
	char *at[CONF_LIST];
	size_t n;
};

struct conf_limits { /* of a type; bytes, counts, thousandths of a cpu */
	uint64_t memory, root, workspace, shm;
	uint32_t pids, cpu_milli, nofile;
};

struct conf_tenant {
	char *name;
	uint8_t token_sha256[32];
	bool admin;
	uint32_t max_sandboxes; /* 0: no bound of its own */
};

struct conf_type {   /* [type NAME] */
	char *name;  /* base, base_async, gui, ... */
	char *image; /* reference in the local store; "": not built yet */
	char *net;   /* none | nat */
	struct conf_limits limits;
	struct conf_list env;
	uint32_t work_timeout; /* seconds; 0: off */
	bool warm; /* its interpreter is kept ready: the image is trusted */
};

struct config {
	/* where */
	char *root;    /* --root: everything hangs below it */
	char *host;    /* HOST */
	uint16_t port; /* PORT */
	char *socket;  /* native API; after conf_check never empty */
	/* who */
	char *bearer_token; /* BEARER_TOKEN; printed to the front as its hash */
	struct conf_tenant *tenant;
	size_t ntenant;
	struct conf_list cors_origins, hosts;
	/* sandboxes */
	struct conf_list default_types; /* DEFAULT_SANDBOX_TYPE */
	struct conf_type *type;
	size_t ntype;
	uint32_t pool_size, blanks, max_instances;
	char *prefix; /* CONTAINER_PREFIX_KEY */
	char *image_namespace, *image_tag, *image_registry;
	struct conf_list mount_allow, readonly_mounts; /* HOST:INSIDE */
	bool allow_mount_dir, auto_cleanup;
	char *default_mount_dir;
	/* seconds unless the name says otherwise */
	uint32_t timeout;           /* RUNTIME_SANDBOX_TIMEOUT */
	uint32_t heartbeat_timeout; /* HEARTBEAT_TIMEOUT */
	uint32_t scan_interval;     /* WATCHER_SCAN_INTERVAL; 0: off */
	uint32_t released_ttl;      /* RELEASE_KET_TTL, RELEASED_KEY_TTL */
	uint32_t drain_timeout;
	uint32_t head_timeout, body_timeout, idle_timeout;
	uint32_t import_timeout; /* of one fetcher */
	/* sizes, bytes */
	uint64_t json_max, output_cap, upload_max;
	uint64_t saved_max; /* workspaces on disk, of one tenant */
	uint32_t connections_max;
	uint64_t front_memory, import_memory;
	/* limits of the host */
	uint32_t id_base, slots;
	struct conf_list limits_required; /* memory pids cpu */
	char *log_level;
	uint64_t warned;       /* rows of the option table */
	struct config *before; /* what conf_adopt took out */
};

#endif
