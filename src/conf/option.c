#include <string.h>
#include <strings.h>
#include "conf/config.h"
#include "conf/list.h"
#include "conf/option.h"

#define AT(field) offsetof(struct config, field)
#define OF_TENANT(field) offsetof(struct conf_tenant, field)
#define OF_TYPE(field) offsetof(struct conf_type, field)
#define OF_MODEL(field) offsetof(struct conf_model, field)
#define OF_AGENT(field) offsetof(struct conf_agent, field)
#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define TIB (1ull << 40)
#define DAY 86400
#define TOOLS                                                                  \
	"run_shell_command run_ipython_cell read_file write_file list_files"
#define LEVELS "error warning notice info debug"

/* clang-format off */
static const struct option main_options[] = {
	{ "root", NULL, AT(root), { VALUE_PATH, 2, 64 }, "/var/lib/hutch",
	    "Directory of everything this daemon keeps." },
	{ "host", "HOST", AT(host), { VALUE_TEXT, 1, 64 }, "127.0.0.1",
	    "Address to listen on, as a number; without any token only a loopback one." },
	{ "port", "PORT", AT(port), { VALUE_PORT }, "8000",
	    "Port of the manager; 0: any free one, told in the log." },
	{ "socket", NULL, AT(socket), { VALUE_PATH, 0, 100 }, "",
	    "Socket of the native API; empty: run/api.sock below the root, for the default root /run/hutch/api.sock." },
	{ "bearer_token", "BEARER_TOKEN", AT(bearer_token), { VALUE_SECRET, 0, 4096 }, NULL,
	    "Token of the tenant \"default\"; without any token whoever reaches the port may do all." },
	{ "cors_origins", NULL, AT(cors_origins), { VALUE_TEXTS }, "",
	    "Web origins whose pages may call." },
	{ "hosts", NULL, AT(hosts), { VALUE_TEXTS }, "",
	    "Names accepted in the Host header besides the address itself and localhost." },

	{ "default_sandbox_type", "DEFAULT_SANDBOX_TYPE", AT(default_types), { VALUE_TEXTS }, "base",
	    "Types with a pool; the first one is used where none is asked for." },
	{ "pool_size", "POOL_SIZE", AT(pool_size), { VALUE_COUNT, 0, 1000 }, "0",
	    "Warm sandboxes of each default type." },
	{ "blanks", NULL, AT(blanks), { VALUE_COUNT, 0, 64 }, "2",
	    "Processes cloned ahead that wait for a sandbox to become." },
	{ "max_sandbox_instances", "MAX_SANDBOX_INSTANCES", AT(max_instances), { VALUE_COUNT, 0, 100000 }, "0",
	    "Bound of live sandboxes; 0: as many as there are id slots." },
	{ "container_prefix", "CONTAINER_PREFIX_KEY", AT(prefix), { VALUE_TEXT, 0, 38 }, "runtime_sandbox_container_",
	    "What a sandbox's public id begins with." },
	{ "image_registry", "RUNTIME_SANDBOX_REGISTRY", AT(image_registry), { VALUE_TEXT, 0, 100 }, "",
	    "First part of an image's name." },
	{ "image_namespace", "RUNTIME_SANDBOX_IMAGE_NAMESPACE", AT(image_namespace), { VALUE_TEXT, 1, 60 }, "agentscope",
	    "Second part of an image's name." },
	{ "image_tag", "RUNTIME_SANDBOX_IMAGE_TAG", AT(image_tag), { VALUE_TEXT, 1, 60 }, "latest",
	    "Tag of an image's name." },
	{ "mount_allow", NULL, AT(mount_allow), { VALUE_PATHS }, "",
	    "Directories of the host below which mounts may be asked for." },
	{ "readonly_mounts", "READONLY_MOUNTS", AT(readonly_mounts), { VALUE_BINDS }, "",
	    "Directories of the host that every sandbox sees, read-only." },
	{ "allow_mount_dir", "ALLOW_MOUNT_DIR", AT(allow_mount_dir), { VALUE_BOOL }, "no",
	    "Whether a request may name a directory for /workspace, below mount_allow." },
	{ "default_mount_dir", "DEFAULT_MOUNT_DIR", AT(default_mount_dir), { VALUE_TEXT, 0 }, "",
	    "Directory below mount_allow that holds a directory a session for /workspace; empty or relative: none." },
	{ "auto_cleanup", "AUTO_CLEANUP", AT(auto_cleanup), { VALUE_BOOL }, "yes",
	    "Whether a clean stop releases all sandboxes." },

	{ "timeout", "RUNTIME_SANDBOX_TIMEOUT", AT(timeout), { VALUE_TIME, 3, DAY }, "60",
	    "The SDK's clock: a call is answered two seconds before." },
	{ "heartbeat_timeout", "HEARTBEAT_TIMEOUT", AT(heartbeat_timeout), { VALUE_TIME, 1, 365 * DAY }, "300",
	    "A session idle for longer is reaped, and can be restored." },
	{ "watcher_scan_interval", "WATCHER_SCAN_INTERVAL", AT(scan_interval), { VALUE_TIME, 0, DAY }, "1",
	    "How often sessions are looked at; off: never reap, fill no pool." },
	{ "released_key_ttl", "RELEASED_KEY_TTL RELEASE_KET_TTL", AT(released_ttl), { VALUE_TIME, 0, 365 * DAY }, "3600",
	    "How long the record of a released sandbox is kept; off: for good." },
	{ "drain_timeout", NULL, AT(drain_timeout), { VALUE_TIME, 0, 3600 }, "30",
	    "What running calls get at a stop." },
	{ "head_timeout", NULL, AT(head_timeout), { VALUE_TIME, 1, 3600 }, "10",
	    "A request's head has to arrive within." },
	{ "body_timeout", NULL, AT(body_timeout), { VALUE_TIME, 1, 3600 }, "30",
	    "A body has to make progress within." },
	{ "idle_timeout", NULL, AT(idle_timeout), { VALUE_TIME, 1, DAY }, "75",
	    "How long a connection without requests is kept." },
	{ "import_timeout", NULL, AT(import_timeout), { VALUE_TIME, 10, DAY }, "1h",
	    "One import or export of an image ends within." },

	{ "push", NULL, AT(push), { VALUE_WORD, .words = "public anywhere none" }, "public",
	    "Where A2A's push notifications may go that clients ask for: public addresses of the internet, anywhere, or none are sent." },

	{ "otlp_endpoint", NULL, AT(otlp_endpoint), { VALUE_TEXT, 0 }, "",
	    "OpenTelemetry collector that takes OTLP over HTTP, as http://127.0.0.1:4318; empty: nothing is traced." },
	{ "otlp_headers", NULL, AT(otlp_headers), { VALUE_HIDDEN }, "",
	    "More headers for the collector; kept like a model's key." },
	{ "otlp_service", NULL, AT(otlp_service), { VALUE_TEXT, 1, 100 }, "hutch",
	    "service.name of the spans." },

	{ "json_max", NULL, AT(json_max), { VALUE_SIZE, 4 * KIB, 64 * MIB }, "8MiB",
	    "Largest JSON body." },
	{ "output_cap", NULL, AT(output_cap), { VALUE_SIZE, 4 * KIB, GIB }, "1MiB",
	    "What is kept of one stream of a tool's output: head and tail." },
	{ "saved_max", NULL, AT(saved_max), { VALUE_SIZE, 0, 1024 * TIB }, "16GiB",
	    "Workspaces of idle sandboxes that are kept for one tenant; 0: no bound." },
	{ "upload_max", NULL, AT(upload_max), { VALUE_SIZE, 0, 1024 * TIB }, "0",
	    "Largest file sent into a workspace; 0: the workspace is the bound." },
	{ "connections_max", NULL, AT(connections_max), { VALUE_COUNT, 8, 65536 }, "1024",
	    "Connections at once." },
	{ "front_memory", NULL, AT(front_memory), { VALUE_SIZE, 64 * MIB, TIB }, "4GiB",
	    "Memory of the process that speaks HTTP." },
	{ "model_memory", NULL, AT(model_memory), { VALUE_SIZE, 64 * MIB, TIB }, "1GiB",
	    "Memory of the process that speaks to models." },
	{ "import_memory", NULL, AT(import_memory), { VALUE_SIZE, 64 * MIB, TIB }, "1GiB",
	    "Memory of the process that unpacks an image." },

	{ "id_base", NULL, AT(id_base), { VALUE_COUNT, 65536, 4227858432 }, "1879048192",
	    "First user id of this host's sandboxes; a multiple of 65536." },
	{ "slots", NULL, AT(slots), { VALUE_COUNT, 4, 1024 }, "1024",
	    "Ranges of 65536 ids this daemon may use: one a sandbox, and four." },
	{ "limits_required", NULL, AT(limits_required), { VALUE_WORDS, .words = "memory pids cpu io" }, "memory,pids,cpu",
	    "Without these limits no sandbox starts." },
	{ "log_level", NULL, AT(log_level), { VALUE_WORD, .words = LEVELS }, "info",
	    "What is logged." },

	{ "agent_host", NULL, AT(agent_host), { VALUE_TEXT, 1, 64 }, "127.0.0.1",
	    "Address that agents answer on, as a number; without any token only a loopback one." },
	{ "agent_port", NULL, AT(agent_port), { VALUE_PORT }, "8090",
	    "Port of the agents; 0: any free one, told in the log." },
	{ "agent_connections", NULL, AT(agent_connections), { VALUE_COUNT, 8, 65536 }, "16384",
	    "Connections to agents at once." },
	{ "agents_max", NULL, AT(agents_max), { VALUE_COUNT, 1, 10000 }, "64",
	    "Agents that may be deployed." },
	{ "agent_processes", NULL, AT(agent_processes), { VALUE_COUNT, 1, 256 }, "16",
	    "Processes that one agent may ask for." },
	{ "agent_runs", NULL, AT(agent_runs), { VALUE_COUNT, 1, 1000000 }, "1000",
	    "Runs at once of one agent." },
	{ "tenant_runs", NULL, AT(tenant_runs), { VALUE_COUNT, 0, 1000000 }, "0",
	    "Runs at once of one tenant, of all agents; 0: no bound." },
	{ "run_timeout", NULL, AT(run_timeout), { VALUE_TIME, 0, 365 * DAY }, "1h",
	    "A run that takes longer ends as failed; off: none does." },
	{ "init_timeout", NULL, AT(init_timeout), { VALUE_TIME, 1, 3600 }, "60",
	    "A worker has to be ready within." },
	{ "cancel_timeout", NULL, AT(cancel_timeout), { VALUE_TIME, 1, 3600 }, "5",
	    "A worker that does not end a canceled run within is ended itself." },
	{ "keep_alive", NULL, AT(keep_alive), { VALUE_TIME, 0, DAY }, "15",
	    "A stream that says nothing for so long says a comment; off: none." },
	{ "on_disconnect", NULL, AT(on_disconnect), { VALUE_WORD, .words = "cancel continue" }, "cancel",
	    "What becomes of a run whose reader leaves." },
	{ "worker_line", NULL, AT(worker_line), { VALUE_SIZE, 64 * KIB, 256 * MIB }, "16MiB",
	    "Longest line between a worker and us." },
	{ "agent_log", NULL, AT(agent_log), { VALUE_SIZE, 4 * KIB, 64 * MIB }, "256KiB",
	    "What is kept of an agent's log: the end of it." },
	{ "agent_code_max", NULL, AT(agent_code_max), { VALUE_SIZE, 64 * KIB, 16 * GIB }, "256MiB",
	    "Largest code of an agent, as a tar." },
	{ "agent_deps_max", NULL, AT(agent_deps_max), { VALUE_SIZE, MIB, 64 * GIB }, "2GiB",
	    "Largest set of packages that an agent's requirements become, as a tar." },
	{ "agent_deps_kept", NULL, AT(agent_deps_kept), { VALUE_SIZE, 0, 1024 * TIB }, "8GiB",
	    "Sets of packages that are kept for the next deployment: the latest used." },
	{ "agent_build_timeout", NULL, AT(agent_build_timeout), { VALUE_TIME, 1, DAY }, "10min",
	    "Installing an agent's requirements ends within." },
	{ "answer_max", NULL, AT(answer_max), { VALUE_SIZE, 64 * KIB, GIB }, "16MiB",
	    "What one run may say in all; one that says more ends as failed." },
	{ "kept_time", NULL, AT(kept_time), { VALUE_TIME, 1, DAY }, "60",
	    "A run whose stream is kept waits so long for its reader to come back, and can be read again so long after its end." },
	{ "tasks_max", NULL, AT(tasks_max), { VALUE_COUNT, 1, 1000000 }, "1000",
	    "Tasks of one tenant, those that are over and still known among them." },
	{ "tasks_kept", NULL, AT(tasks_kept), { VALUE_TIME, 1, 365 * DAY }, "1h",
	    "A task's result is known so long after its end." },
	{ "state_max", NULL, AT(state_max), { VALUE_SIZE, KIB, 64 * MIB }, "1MiB",
	    "Largest value, message or memory that an agent may keep." },
	{ "services_max", NULL, AT(services_max), { VALUE_SIZE, 64 * KIB, 1024 * TIB }, "1GiB",
	    "What the agents of one tenant may keep in all: state, history, memory." },
	{ "history_max", NULL, AT(history_max), { VALUE_COUNT, 1, 1000000 }, "10000",
	    "Messages that are kept of one session: the latest." },

	{ "workers", "WORKERS", 0, { VALUE_IDLE }, NULL,
	    "Without effect: one process serves all." },
	{ "port_range", "PORT_RANGE", 0, { VALUE_IDLE }, NULL,
	    "Without effect: a sandbox needs no port of the host." },
	{ "container_deployment", "CONTAINER_DEPLOYMENT", 0, { VALUE_ONLY, .words = "docker" }, NULL,
	    "sandboxes run on this host" },
	{ "file_system", "FILE_SYSTEM", 0, { VALUE_ONLY, .words = "local" }, NULL,
	    "object storage is not built yet" },
	{ "storage_folder", "STORAGE_FOLDER", 0, { VALUE_ONLY, .words = "none" }, NULL,
	    "workspaces are kept in the store; copying them to a folder is not built yet" },
	{ "redis_enabled", "REDIS_ENABLED", 0, { VALUE_ONLY, .words = "false no off 0" }, NULL,
	    "shared state in Redis is not built yet" },
	{ NULL }
};

static const struct option tenant_options[] = {
	{ "token_sha256", NULL, OF_TENANT(token_sha256), { VALUE_SHA256 }, NULL,
	    "SHA-256 of the tenant's bearer token." },
	{ "admin", NULL, OF_TENANT(admin), { VALUE_BOOL }, "no",
	    "Sees and ends everybody's sandboxes, images and metrics." },
	{ "max_sandboxes", NULL, OF_TENANT(max_sandboxes), { VALUE_COUNT, 0, 100000 }, "0",
	    "Bound of live sandboxes; 0: the daemon's." },
	{ NULL }
};

static const struct option type_options[] = {
	{ "image", NULL, OF_TYPE(image), { VALUE_TEXT, 0, VALUE_TEXT_MAX }, NULL,
	    "Image in the local store; of type base by default REGISTRY/NAMESPACE/runtime-sandbox-base:TAG, of type app that of base." },
	{ "net", NULL, OF_TYPE(net), { VALUE_WORD, .words = "none nat" }, "nat",
	    "Loopback only, or the public internet." },
	{ "memory", NULL, OF_TYPE(limits.memory), { VALUE_SIZE, 8 * MIB, 64 * TIB }, "2GiB",
	    "Memory, files in tmpfs included." },
	{ "root_size", NULL, OF_TYPE(limits.root), { VALUE_SIZE, MIB, 64 * TIB }, "1GiB",
	    "What may be written outside of /workspace." },
	{ "workspace_size", NULL, OF_TYPE(limits.workspace), { VALUE_SIZE, MIB, 64 * TIB }, "1GiB",
	    "What /workspace may hold." },
	{ "shm_size", NULL, OF_TYPE(limits.shm), { VALUE_SIZE, MIB, 64 * TIB }, "64MiB",
	    "Size of /dev/shm." },
	{ "pids", NULL, OF_TYPE(limits.pids), { VALUE_COUNT, 8, 4194304 }, "512",
	    "Processes and threads." },
	{ "cpus", NULL, OF_TYPE(limits.cpu_milli), { VALUE_CPU, 10, 4096000 }, "1",
	    "Processors." },
	{ "nofile", NULL, OF_TYPE(limits.nofile), { VALUE_COUNT, 64, 1048576 }, "4096",
	    "Open files of a process." },
	{ "env", NULL, OF_TYPE(env), { VALUE_ENVS }, "",
	    "Environment inside." },
	{ "work_timeout", NULL, OF_TYPE(work_timeout), { VALUE_TIME, 0, 365 * DAY }, "10min",
	    "A command or cell that runs longer is ended; off: none is." },
	{ "warm", NULL, OF_TYPE(warm), { VALUE_BOOL }, "yes",
	    "Keep an interpreter of the image ready for first cells; only for images you trust as the daemon's own." },
	{ NULL }
};

static const struct option model_options[] = {
	{ "url", NULL, OF_MODEL(url), { VALUE_TEXT, 5, VALUE_TEXT_MAX }, "stub:",
	    "Endpoint that speaks OpenAI's chat completions, up to and with its version: https://HOST/v1; stub: is the scripted one of hutch model-stub." },
	{ "key", NULL, OF_MODEL(key), { VALUE_SECRET, 0, 4096 }, NULL,
	    "Its key; only hutch-model ever has it." },
	{ "key_file", NULL, OF_MODEL(key_file), { VALUE_PATH, 0 }, "",
	    "File with the key, instead of it." },
	{ "model", NULL, OF_MODEL(model), { VALUE_TEXT, 0 }, "",
	    "What the endpoint calls the model; empty: NAME." },
	{ "headers", NULL, OF_MODEL(headers), { VALUE_HIDDEN }, "",
	    "More headers of its requests; kept like the key." },
	{ "proxy", NULL, OF_MODEL(proxy), { VALUE_TEXT, 0 }, "",
	    "Proxy's URL; empty: as the daemon's environment says; none." },
	{ "timeout", NULL, OF_MODEL(timeout), { VALUE_TIME, 1, DAY }, "10min",
	    "A whole answer ends within." },
	{ "stall_timeout", NULL, OF_MODEL(stall_timeout), { VALUE_TIME, 1, DAY }, "2min",
	    "An answer without a byte for so long is given up." },
	{ "concurrency", NULL, OF_MODEL(concurrency), { VALUE_COUNT, 1, 1024 }, "16",
	    "Answers at once; more wait for their turn." },
	{ "retries", NULL, OF_MODEL(retries), { VALUE_COUNT, 0, 10 }, "2",
	    "How often a request that was refused for the moment is made again." },
	{ NULL }
};

static const struct option agent_options[] = {
	{ "title", NULL, OF_AGENT(title), { VALUE_TEXT, 0 }, "",
	    "Its name for people; empty: NAME." },
	{ "description", NULL, OF_AGENT(description), { VALUE_TEXT, 0 }, "",
	    "What it is for, in a sentence; A2A's card shows it." },
	{ "model", NULL, OF_AGENT(model), { VALUE_TEXT, 0, 31 }, "",
	    "A [model NAME]; empty: the first one, or the scripted one if there is none." },
	{ "system", NULL, OF_AGENT(system), { VALUE_LINES }, "",
	    "System prompt." },
	{ "tools", NULL, OF_AGENT(tools), { VALUE_WORDS, .words = "all none " TOOLS }, "all",
	    "What it may do in its sandbox." },
	{ "type", NULL, OF_AGENT(type), { VALUE_TEXT, 0, 31 }, "",
	    "Type of its sandboxes, one a session; empty: the first default type." },
	{ "memory", NULL, OF_AGENT(memory), { VALUE_WORD, .words = "session none" }, "session",
	    "Whether it knows what was said before in a session." },
	{ "temperature", NULL, OF_AGENT(temperature), { VALUE_TEXT, 0, 8 }, "",
	    "Sampling temperature; empty: the model's own." },
	{ "max_tokens", NULL, OF_AGENT(max_tokens), { VALUE_COUNT, 0, 100000000 }, "0",
	    "Bound of one answer; 0: the model's own." },
	{ "max_steps", NULL, OF_AGENT(max_steps), { VALUE_COUNT, 1, 1000 }, "20",
	    "Answers of the model in one run." },
	{ "tool_timeout", NULL, OF_AGENT(tool_timeout), { VALUE_TIME, 1, DAY }, "2min",
	    "A tool that runs longer is ended." },
	{ "reasoning", NULL, OF_AGENT(reasoning), { VALUE_BOOL }, "yes",
	    "Whether its reasoning is part of what it says." },
	{ NULL }
};
/* clang-format on */

static const struct option *const tables[OPTION_SCOPES] = {
	[OPTION_MAIN] = main_options,
	[OPTION_TENANT] = tenant_options,
	[OPTION_TYPE] = type_options,
	[OPTION_MODEL] = model_options,
	[OPTION_AGENT] = agent_options,
};

const struct option *
option_table(enum option_scope scope)
{
	return tables[scope];
}

const struct option *
option_find(enum option_scope scope, const char *name)
{
	for (const struct option *o = tables[scope]; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

const struct option *
option_by_env(const char *name)
{
	static const char ours[] = "HUTCH_";
	char upper[64];
	size_t n = strlen(name);

	if (n >= sizeof upper)
		return NULL;
	for (size_t i = 0; i <= n; i++)
		upper[i] = name[i] >= 'a' && name[i] <= 'z'
		    ? (char)(name[i] - 'a' + 'A')
		    : name[i];
	for (const struct option *o = main_options; o->name != NULL; o++)
		if ((o->env != NULL && list_has_word(o->env, upper)) ||
		    (strncmp(upper, ours, sizeof ours - 1) == 0 &&
			strcasecmp(upper + sizeof ours - 1, o->name) == 0))
			return o;
	return NULL;
}
