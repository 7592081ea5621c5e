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
#define CONF_MODELS 32
#define CONF_AGENTS 64
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

struct conf_model { /* [model NAME]: an endpoint that answers as OpenAI's */
	char *name;
	char *url;      /* http(s)://...; "stub:": the scripted one */
	char *key;      /* never printed: for hutch-model only */
	char *key_file; /* instead; read by conf_check */
	char *model;    /* its word for the model; after conf_check never "" */
	char *proxy;    /* URL; "": as the environment says; "none" */
	struct conf_list headers; /* "Name: value"; never printed */
	uint32_t timeout;         /* of an answer, seconds */
	uint32_t stall_timeout;   /* without a byte */
	uint32_t concurrency;     /* answers at once; more wait */
	uint32_t retries;         /* of one that failed before it began */
};

struct conf_agent { /* [agent NAME]: an agent without code */
	char *name;
	char *title, *description;
	char *model; /* a [model NAME]; after conf_check never "" */
	struct conf_list system;
	struct conf_list tools; /* names; "all", "none" */
	char *type;             /* of its sandboxes; "": the first default */
	char *memory;           /* none | session */
	char *temperature;      /* "": the model's own */
	uint32_t max_tokens;    /* 0: the model's own */
	uint32_t max_steps;
	uint32_t tool_timeout; /* seconds */
	bool reasoning;        /* is shown */
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
	struct conf_model *model;
	size_t nmodel;
	struct conf_agent *agent;
	size_t nagent;
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
	uint64_t front_memory, import_memory, model_memory;
	/* agents */
	char *agent_host;
	uint16_t agent_port;
	uint32_t agents_max, agent_processes, agent_connections;
	uint32_t agent_runs, tenant_runs; /* at once */
	uint32_t run_timeout, init_timeout, cancel_timeout;
	uint32_t keep_alive;
	char *on_disconnect; /* cancel | continue */
	uint64_t worker_line, agent_log, agent_code_max;
	uint64_t agent_deps_max, agent_deps_kept;
	uint32_t agent_build_timeout;
	uint32_t kept_time, tasks_max, tasks_kept, history_max;
	uint64_t answer_max;
	uint64_t state_max, services_max; /* of one value; of a tenant */
	/* limits of the host */
	uint32_t id_base, slots;
	struct conf_list limits_required; /* memory pids cpu */
	char *log_level;
	char *push; /* public | anywhere | none */
	char *otlp_endpoint, *otlp_service;
	struct conf_list otlp_headers; /* never printed */
	uint64_t warned;               /* rows of the option table */
	struct config *before;         /* what conf_adopt took out */
};

#endif
