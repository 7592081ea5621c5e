/*
 * mcp: what the client wants of MCP servers inside a sandbox.
 *
 * Nothing here runs one: a sandbox has no MCP host in it, so every server that
 * is asked for fails to start, by name and with the reason.
 */
#ifndef WEB_MCP_H
#define WEB_MCP_H

#include <jansson.h>

struct err;

/* 0: nothing was asked for that could fail. */
int mcp_check_servers(const json_t *server_configs, struct err *);

#endif
