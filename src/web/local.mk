noinst_LIBRARIES += libweb.a
# The server: how it is asked and answered.
libweb_a_SOURCES = %D%/auth.c %D%/auth.h %D%/conn.c %D%/http.h \
	%D%/http_int.h %D%/multipart.c %D%/multipart.h %D%/parse.c \
	%D%/parse.h %D%/reply.c %D%/req.c %D%/route.c %D%/route.h \
	%D%/server.c %D%/sock.c %D%/sock.h %D%/uri.c %D%/uri.h
libweb_a_CPPFLAGS = $(AM_CPPFLAGS) $(EVENTALL_CFLAGS) $(JANSSON_CFLAGS)

# The routes' own: what is answered.
libweb_a_SOURCES += %D%/api.c %D%/api.h %D%/api_backup.c %D%/api_doctor.c %D%/api_exec.c %D%/api_export.c \
	%D%/api_files.c %D%/api_images.c %D%/api_import.c %D%/api_int.h \
	%D%/api_sandboxes.c %D%/app.c %D%/app.h %D%/boxbody.c %D%/boxbody.h \
	%D%/door.c %D%/door.h %D%/environ.c %D%/environ.h %D%/fetchline.c \
	%D%/fetchline.h %D%/gitdiff.c %D%/gitdiff.h %D%/imagedir.c \
	%D%/imagedir.h %D%/inbox.c %D%/inbox.h %D%/lease.c %D%/lease.h \
	%D%/mcp.c %D%/mcp.h %D%/metrics.c %D%/metrics.h %D%/openapi.c \
	%D%/openapi.h %D%/plain.c %D%/plain.h %D%/proxy.c %D%/proxy.h \
	%D%/record.c %D%/record.h %D%/result.c %D%/result.h %D%/routes.c \
	%D%/routes.h %D%/rpc.c %D%/rpc.h %D%/rpc_sandbox.c %D%/rpc_tools.c \
	%D%/toolresult.c %D%/toolresult.h %D%/trail.c %D%/trail.h \
	%D%/upload.c %D%/upload.h %D%/watcher.c %D%/watcher.h %D%/work.c \
	%D%/work.h %D%/workspace.c %D%/workspace.h %D%/workspace_batch.c \
	%D%/workspace_read.c %D%/workspace_write.c

# Agents: the doors of their own listener.
libweb_a_SOURCES += %D%/agent.c %D%/agent.h %D%/agent_process.c \
	%D%/agent_below.c %D%/agent_docs.c %D%/agent_info.c \
	%D%/agent_stop.c %D%/agent_task.c %D%/agent_task.h %D%/kept.c \
	%D%/kept.h %D%/sse.c %D%/sse.h \
	%D%/agent_routes.c %D%/agent_routes.h \
	%D%/agent_call.c %D%/agent_call.h %D%/answer.c %D%/answer.h %D%/api_agents.c

# ... in OpenAI's words.
libweb_a_SOURCES += %D%/agent_chat.c %D%/agent_models.c %D%/agent_openai.c \
	%D%/agent_openai.h %D%/agent_responses.c %D%/shelf.c %D%/shelf.h \
	%D%/shelf_history.c %D%/shelf_int.h
# What AG-UI's and A2A's clients are answered by.
libweb_a_SOURCES += %D%/a2a_desk.c %D%/a2a_desk.h %D%/a2a_follow.c \
	%D%/a2a_int.h %D%/a2a_push.c %D%/a2a_tasks_list.c %D%/agent_a2a.c \
	%D%/agent_agui.c %D%/agent_card.c %D%/jsonrpc.c %D%/jsonrpc.h

# The MCP server.
libweb_a_SOURCES += %D%/agent_mcp.c %D%/mcp_box.c %D%/mcp_desk.c \
	%D%/mcp_desk.h %D%/mcp_int.h %D%/mcp_tools.c
