#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "web/mcp.h"

int
mcp_check_servers(const json_t *configs, struct err *err)
{
	auto_str struct str names = { 0 };
	const json_t *servers;
	const char *name;
	json_t *v;

	if (configs == NULL || json_is_null(configs) ||
	    (json_is_object(configs) && json_object_size(configs) == 0))
		return err_set(err, ERR_INVALID, "server_configs is required.");
	if (!json_is_object(configs))
		return err_set(err, ERR_INVALID,
		    "server_configs: Input should be a valid dictionary");
	servers = json_object_get(configs, "mcpServers");
	if (servers == NULL)
		return err_set(err, ERR_INVALID,
		    "server_configs has no 'mcpServers'");
	if (!json_is_object(servers))
		return err_set(err, ERR_INVALID,
		    "mcpServers: Input should be a valid dictionary");
	if (json_object_size(servers) == 0)
		return 0;
	json_object_foreach((json_t *)(uintptr_t)servers, name, v)
		str_printf(&names, "%s'%.60s'", names.len > 0 ? ", " : "",
		    name);
	return err_set(err, ERR_DENIED,
	    "Failed to initialize server: [%.120s]: sandboxes of this version "
	    "have no MCP host",
	    str_text(&names));
}
