/*
 * mcp_desk: the sessions of the MCP server, as the front knows them: to be put
 * away.  Made by the door when it is first asked for.
 */
#ifndef WEB_MCP_DESK_H
#define WEB_MCP_DESK_H

struct mcp_desk;

/* The streams that sessions listen to end: we are about to leave. */
void mcp_desk_drain(struct mcp_desk *);
void mcp_desk_free(struct mcp_desk *);

#endif
