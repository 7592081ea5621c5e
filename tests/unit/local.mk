# One program a module.  UNIT_LIBS: what a test links beyond its own module.
UNIT_LIBS = libwire.a libbase.a $(CMOCKA_LIBS) $(EVENT_LIBS)

UNIT_TESTS += tests/unit/frame_test
tests_unit_frame_test_SOURCES = %D%/frame_test.c
tests_unit_frame_test_LDADD = $(UNIT_LIBS)

UNIT_TESTS += tests/unit/str_test
tests_unit_str_test_SOURCES = %D%/str_test.c
tests_unit_str_test_LDADD = $(UNIT_LIBS)

UNIT_TESTS += tests/unit/utf8_test
tests_unit_utf8_test_SOURCES = %D%/utf8_test.c
tests_unit_utf8_test_LDADD = $(UNIT_LIBS)

UNIT_TESTS += tests/unit/net_rules_test
tests_unit_net_rules_test_SOURCES = %D%/net_rules_test.c
tests_unit_net_rules_test_LDADD = libisolator.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/sha256_test
tests_unit_sha256_test_SOURCES = %D%/sha256_test.c
tests_unit_sha256_test_LDADD = $(UNIT_LIBS)

UNIT_TESTS += tests/unit/conf_test
tests_unit_conf_test_SOURCES = %D%/conf_test.c
tests_unit_conf_test_LDADD = libconf.a $(UNIT_LIBS) $(INIH_LIBS)

UNIT_TESTS += tests/unit/spec_test
tests_unit_spec_test_SOURCES = %D%/spec_test.c
tests_unit_spec_test_LDADD = libisolator.a $(UNIT_LIBS)

# The answers of the front: pure parts of libweb.
WEB_UNIT_LIBS = libweb.a libjson.a $(UNIT_LIBS) $(JANSSON_LIBS)

UNIT_TESTS += tests/unit/jtext_test
tests_unit_jtext_test_SOURCES = %D%/jtext_test.c
tests_unit_jtext_test_LDADD = $(WEB_UNIT_LIBS)

UNIT_TESTS += tests/unit/plain_test
tests_unit_plain_test_SOURCES = %D%/plain_test.c
tests_unit_plain_test_LDADD = $(WEB_UNIT_LIBS)

UNIT_TESTS += tests/unit/toolresult_test
tests_unit_toolresult_test_SOURCES = %D%/toolresult_test.c
tests_unit_toolresult_test_LDADD = $(WEB_UNIT_LIBS)

# Fakes: a guest's agent, and what turns a loop until something is so.
check_LIBRARIES += libfake.a
libfake_a_SOURCES = tests/lib/drive.c tests/lib/drive.h \
	tests/lib/fakeagent.c tests/lib/fakeagent.h tests/lib/fakebroker.c \
	tests/lib/fakebroker.h
FAKE_LIBS = libfake.a libguest.a $(UNIT_LIBS) $(PROTOBUFC_LIBS) \
	$(JANSSON_LIBS) -lm

UNIT_TESTS += tests/unit/guest_test
tests_unit_guest_test_SOURCES = %D%/guest_test.c %D%/guest_fixture.h
tests_unit_guest_test_LDADD = $(FAKE_LIBS)

UNIT_TESTS += tests/unit/guest_hostile_test
tests_unit_guest_hostile_test_SOURCES = %D%/guest_hostile_test.c
tests_unit_guest_hostile_test_LDADD = $(FAKE_LIBS)

UNIT_TESTS += tests/unit/schema_test
tests_unit_schema_test_SOURCES = %D%/schema_test.c
tests_unit_schema_test_LDADD = $(FAKE_LIBS)

# Pure parts of the agent, in the host's flavour.
UNIT_TESTS += tests/unit/cap_test
tests_unit_cap_test_SOURCES = %D%/cap_test.c src/agent/cap.c
tests_unit_cap_test_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/tool_test
tests_unit_tool_test_SOURCES = %D%/tool_test.c src/agent/tool.c
tests_unit_tool_test_LDADD = $(UNIT_LIBS)
UNIT_TESTS += tests/unit/tar_test
tests_unit_tar_test_SOURCES = %D%/tar_test.c src/agent/tar.c
tests_unit_tar_test_LDADD = $(UNIT_LIBS)

UNIT_TESTS += tests/unit/cli_test
tests_unit_cli_test_SOURCES = %D%/cli_test.c
tests_unit_cli_test_LDADD = $(CLI_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/life_test
tests_unit_life_test_SOURCES = %D%/life_test.c
tests_unit_life_test_LDADD = libmanager.a $(FAKE_LIBS)

UNIT_TESTS += tests/unit/table_test
tests_unit_table_test_SOURCES = %D%/table_test.c
tests_unit_table_test_LDADD = libmanager.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/broker_call_test
tests_unit_broker_call_test_SOURCES = %D%/broker_call_test.c
tests_unit_broker_call_test_LDADD = libmanager.a $(FAKE_LIBS)

# The HTTP server's pure parts; the server itself: tests/api/http.t.
WEB_TEST_LIBS = libweb.a libjson.a libconf.a $(UNIT_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)

UNIT_TESTS += tests/unit/parse_test
tests_unit_parse_test_SOURCES = %D%/parse_test.c
tests_unit_parse_test_LDADD = $(WEB_TEST_LIBS)

UNIT_TESTS += tests/unit/multipart_test
tests_unit_multipart_test_SOURCES = %D%/multipart_test.c
tests_unit_multipart_test_LDADD = $(WEB_TEST_LIBS)

UNIT_TESTS += tests/unit/route_test
tests_unit_route_test_SOURCES = %D%/route_test.c
tests_unit_route_test_LDADD = $(WEB_TEST_LIBS)

UNIT_TESTS += tests/unit/auth_test
tests_unit_auth_test_SOURCES = %D%/auth_test.c
tests_unit_auth_test_LDADD = $(WEB_TEST_LIBS)

# From an image archive to layers.
ROOTFS_UNIT_LIBS = $(ROOTFS_LIBS) $(UNIT_LIBS)

UNIT_TESTS += tests/unit/ref_test
tests_unit_ref_test_SOURCES = %D%/ref_test.c
tests_unit_ref_test_LDADD = $(ROOTFS_UNIT_LIBS)

UNIT_TESTS += tests/unit/policy_test
tests_unit_policy_test_SOURCES = %D%/policy_test.c
tests_unit_policy_test_LDADD = $(ROOTFS_UNIT_LIBS)

UNIT_TESTS += tests/unit/manifest_test
tests_unit_manifest_test_SOURCES = %D%/manifest_test.c
tests_unit_manifest_test_LDADD = $(ROOTFS_UNIT_LIBS)

UNIT_TESTS += tests/unit/layer_test
tests_unit_layer_test_SOURCES = %D%/layer_test.c
tests_unit_layer_test_LDADD = $(ROOTFS_UNIT_LIBS)

BED_LIBS = libdaemon.a libconf.a libisolator.a $(UNIT_LIBS) $(INIH_LIBS) \
	$(CAPNG_LIBS) $(NLROUTE_LIBS) $(SECCOMP_LIBS)

UNIT_TESTS += tests/unit/broker_test
tests_unit_broker_test_SOURCES = %D%/broker_test.c %D%/bed.c %D%/bed.h
tests_unit_broker_test_LDADD = $(BED_LIBS)

UNIT_TESTS += tests/unit/imports_test
tests_unit_imports_test_SOURCES = %D%/imports_test.c %D%/bed.c %D%/bed.h
tests_unit_imports_test_LDADD = $(BED_LIBS)

UNIT_TESTS += tests/unit/gitdiff_test
tests_unit_gitdiff_test_SOURCES = %D%/gitdiff_test.c
tests_unit_gitdiff_test_LDADD = $(WEB_UNIT_LIBS)

UNIT_TESTS += tests/unit/fetchline_test
tests_unit_fetchline_test_SOURCES = %D%/fetchline_test.c
tests_unit_fetchline_test_LDADD = $(WEB_UNIT_LIBS)

UNIT_TESTS += tests/unit/environ_test
tests_unit_environ_test_SOURCES = %D%/environ_test.c
tests_unit_environ_test_LDADD = $(WEB_UNIT_LIBS)

UNIT_TESTS += tests/unit/rpc_test
tests_unit_rpc_test_SOURCES = %D%/rpc_test.c
tests_unit_rpc_test_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_rpc_test_LDADD = libweb.a libjson.a libconf.a $(UNIT_LIBS) $(JANSSON_LIBS) \
	$(INIH_LIBS)

MANAGER_LIBS = libmanager.a libstore.a libconf.a $(FAKE_LIBS) $(SQLITE_LIBS) \
	$(INIH_LIBS)

UNIT_TESTS += tests/unit/manager_test
tests_unit_manager_test_SOURCES = %D%/manager_test.c %D%/manager_fixture.c \
	%D%/manager_fixture.h
tests_unit_manager_test_LDADD = $(MANAGER_LIBS)
UNIT_TESTS += tests/unit/plan_test
tests_unit_plan_test_SOURCES = %D%/plan_test.c
tests_unit_plan_test_LDADD = libisolator.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/seccomp_test
tests_unit_seccomp_test_SOURCES = %D%/seccomp_test.c
tests_unit_seccomp_test_LDADD = libisolator.a $(UNIT_LIBS) $(SECCOMP_LIBS)

UNIT_TESTS += tests/unit/cgroup_test
tests_unit_cgroup_test_SOURCES = %D%/cgroup_test.c
tests_unit_cgroup_test_LDADD = libisolator.a $(UNIT_LIBS)


UNIT_TESTS += tests/unit/manager_session_test
tests_unit_manager_session_test_SOURCES = %D%/manager_session_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_manager_session_test_LDADD = $(MANAGER_LIBS)

UNIT_TESTS += tests/unit/manager_pool_test
tests_unit_manager_pool_test_SOURCES = %D%/manager_pool_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_manager_pool_test_LDADD = $(MANAGER_LIBS)

UNIT_TESTS += tests/unit/manager_restart_test
tests_unit_manager_restart_test_SOURCES = %D%/manager_restart_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_manager_restart_test_LDADD = $(MANAGER_LIBS)

UNIT_TESTS += tests/unit/journal_test
tests_unit_journal_test_SOURCES = %D%/journal_test.c
tests_unit_journal_test_LDADD = libstore.a $(UNIT_LIBS) $(SQLITE_LIBS)

UNIT_TESTS += tests/unit/manager_storm_test
tests_unit_manager_storm_test_SOURCES = %D%/manager_storm_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_manager_storm_test_LDADD = $(MANAGER_LIBS)

# A run: from a worker's line to what its readers get.
ENGINE_UNIT_LIBS = libengine.a libjson.a $(UNIT_LIBS) $(JANSSON_LIBS)

UNIT_TESTS += tests/unit/feed_test
tests_unit_feed_test_SOURCES = %D%/feed_test.c
tests_unit_feed_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/reply_native_test
tests_unit_reply_native_test_SOURCES = %D%/reply_native_test.c \
	%D%/engine_fixture.c %D%/engine_fixture.h
tests_unit_reply_native_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/a2a_tasks_test
tests_unit_a2a_tasks_test_SOURCES = %D%/a2a_tasks_test.c
tests_unit_a2a_tasks_test_LDADD = libstore.a $(UNIT_LIBS) $(SQLITE_LIBS)

UNIT_TESTS += tests/unit/agui_test
tests_unit_agui_test_SOURCES = %D%/agui_test.c %D%/engine_fixture.c \
	%D%/engine_fixture.h
tests_unit_agui_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/escape_test
tests_unit_escape_test_SOURCES = %D%/escape_test.c
tests_unit_escape_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/line_test
tests_unit_line_test_SOURCES = %D%/line_test.c
tests_unit_line_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/run_test
tests_unit_run_test_SOURCES = %D%/run_test.c %D%/engine_fixture.c \
	%D%/engine_fixture.h
tests_unit_run_test_LDADD = $(ENGINE_UNIT_LIBS)
# hutch-model's parts; all of it: tests/api/model.t.
UNIT_TESTS += tests/unit/redact_test
tests_unit_redact_test_SOURCES = %D%/redact_test.c
tests_unit_redact_test_LDADD = libmodel.a $(UNIT_LIBS)

UNIT_TESTS += tests/unit/stub_test
tests_unit_stub_test_SOURCES = %D%/stub_test.c
tests_unit_stub_test_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_stub_test_LDADD = $(MODEL_LIBS) $(UNIT_LIBS)


UNIT_TESTS += tests/unit/reply_openai_test
tests_unit_reply_openai_test_SOURCES = %D%/reply_openai_test.c \
	%D%/engine_fixture.c %D%/engine_fixture.h
tests_unit_reply_openai_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/ask_test
tests_unit_ask_test_SOURCES = %D%/ask_test.c
tests_unit_ask_test_LDADD = $(ENGINE_UNIT_LIBS)
UNIT_TESTS += tests/unit/a2a_test
tests_unit_a2a_test_SOURCES = %D%/a2a_test.c %D%/engine_fixture.c \
	%D%/engine_fixture.h
tests_unit_a2a_test_LDADD = $(ENGINE_UNIT_LIBS)


UNIT_TESTS += tests/unit/responses_store_test
tests_unit_responses_store_test_SOURCES = %D%/responses_store_test.c
tests_unit_responses_store_test_LDADD = libstore.a $(UNIT_LIBS) $(SQLITE_LIBS)


UNIT_TESTS += tests/unit/sse_test
tests_unit_sse_test_SOURCES = %D%/sse_test.c
tests_unit_sse_test_LDADD = libfake.a libweb.a $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/completion_test
tests_unit_completion_test_SOURCES = %D%/completion_test.c
tests_unit_completion_test_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_completion_test_LDADD = $(ENGINE_UNIT_LIBS)

UNIT_TESTS += tests/unit/builtin_test
tests_unit_builtin_test_SOURCES = %D%/builtin_test.c %D%/manager_fixture.c \
	%D%/manager_fixture.h
tests_unit_builtin_test_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_builtin_test_LDADD = libengine.a libmodel.a libjson.a \
	$(MANAGER_LIBS) $(CURL_LIBS)

UNIT_TESTS += tests/unit/store_services_test
tests_unit_store_services_test_SOURCES = %D%/store_services_test.c
tests_unit_store_services_test_LDADD = libstore.a $(UNIT_LIBS) $(SQLITE_LIBS)

UNIT_TESTS += tests/unit/services_box_test
tests_unit_services_box_test_SOURCES = %D%/services_box_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_services_box_test_LDADD = libengine.a $(MANAGER_LIBS) libjson.a \
	libbase.a

UNIT_TESTS += tests/unit/services_test
tests_unit_services_test_SOURCES = %D%/services_test.c
tests_unit_services_test_LDADD = libengine.a libmanager.a libguest.a \
	libstore.a libconf.a libjson.a $(UNIT_LIBS) $(PROTOBUFC_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS) $(INIH_LIBS) -lm

UNIT_TESTS += tests/unit/manager_early_test
tests_unit_manager_early_test_SOURCES = %D%/manager_early_test.c \
	%D%/manager_fixture.c %D%/manager_fixture.h
tests_unit_manager_early_test_LDADD = $(MANAGER_LIBS)

# What an agent of code is made of.
UNIT_TESTS += tests/unit/agent_code_test
tests_unit_agent_code_test_SOURCES = %D%/agent_code_test.c
tests_unit_agent_code_test_LDADD = libengine.a libconf.a libjson.a $(UNIT_LIBS) \
	$(JANSSON_LIBS) $(INIH_LIBS) -lm

UNIT_TESTS += tests/unit/trace_test
tests_unit_trace_test_SOURCES = %D%/trace_test.c
tests_unit_trace_test_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_trace_test_LDADD = libengine.a libjson.a libmanager.a $(FAKE_LIBS)
