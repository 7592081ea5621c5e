# The HTTP server alone, under a table of small routes.
check_PROGRAMS += tests/api/httpd_try
tests_api_httpd_try_SOURCES = %D%/httpd_try.c
tests_api_httpd_try_LDADD = libweb.a libjson.a libconf.a libwire.a libbase.a \
	$(JANSSON_LIBS) $(INIH_LIBS) $(EVENT_LIBS)

# tests/api

dist_check_SCRIPTS += %D%/cli.t
TESTS += %D%/cli.t
dist_check_SCRIPTS += %D%/http.t
TESTS += %D%/http.t
dist_check_SCRIPTS += %D%/server.t
TESTS += %D%/server.t
dist_check_SCRIPTS += %D%/front.t
TESTS += %D%/front.t
EXTRA_DIST += tests/lib/webclient.py tests/lib/paperbroker.py
dist_check_SCRIPTS += %D%/model.t
TESTS += %D%/model.t
EXTRA_DIST += tests/lib/modelwire.py

# The agents' doors before an engine of paper.
check_PROGRAMS += tests/api/agents_try
tests_api_agents_try_SOURCES = %D%/agents_try.c tests/lib/paperagent.c \
	tests/lib/paperagent.h
tests_api_agents_try_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_api_agents_try_LDADD = libweb.a libengine.a libmanager.a libguest.a \
	libstore.a libconf.a libjson.a libwire.a libbase.a $(PROTOBUFC_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS) $(INIH_LIBS) $(EVENT_LIBS) -lm
dist_check_SCRIPTS += %D%/agent_doors.t
TESTS += %D%/agent_doors.t


dist_check_SCRIPTS += tests/api/openai.t
TESTS += tests/api/openai.t

# The MCP server's sandboxes.
dist_check_SCRIPTS += %D%/mcp.t %D%/protocols.t
TESTS += %D%/mcp.t %D%/protocols.t
