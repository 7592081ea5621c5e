# tests/clients: clients of others, unmodified, against our doors; not in
# `make check`, for they come from the registries.
CLIENT_TESTS =
check_PROGRAMS += tests/clients/run_try
tests_clients_run_try_SOURCES = %D%/run_try.c
tests_clients_run_try_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_clients_run_try_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS) $(EVENT_LIBS)
check-clients: all $(check_PROGRAMS)
	$(MAKE) check TESTS='$(CLIENT_TESTS)'
.PHONY: check-clients

# The clients of OpenAI's protocols before an agent of paper.
CLIENT_TESTS += %D%/openai.t %D%/openai_real.t
dist_check_SCRIPTS += %D%/openai.t %D%/openai_real.t
EXTRA_DIST += %D%/openai_node.mjs %D%/openai_older.py %D%/openai_python.py \
	%D%/openai_run.py %D%/openai_streams.py %D%/packages scripts/node-with

# The agent package's adapters against the frameworks; no root, no daemon.
CLIENT_TESTS += %D%/frameworks.t
dist_check_SCRIPTS += %D%/frameworks.t
EXTRA_DIST += %D%/agents tests/lib/modelserver.py scripts/python-with

# The agents' doors before a paper agent, by the protocols' own clients.
CLIENT_TESTS += %D%/a2a.t %D%/a2a-tck.t %D%/agui.t %D%/mcp.t
dist_check_SCRIPTS += %D%/a2a.t %D%/a2a-tck.t %D%/agui.t %D%/mcp.t
EXTRA_DIST += %D%/doors.py %D%/protocols
