check_PROGRAMS += tests/bench/engine_bench
tests_bench_engine_bench_SOURCES = %D%/engine_bench.c
tests_bench_engine_bench_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_bench_engine_bench_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS)

# Streams of many readers, and who speaks on them: agents.py.
check_PROGRAMS += tests/bench/streams tests/bench/sayer
tests_bench_streams_SOURCES = %D%/streams.c
tests_bench_sayer_SOURCES = %D%/sayer.c
tests_bench_sayer_CFLAGS = $(HUTCH_CFLAGS)
tests_bench_sayer_LDFLAGS = $(AGENT_LDFLAGS)
EXTRA_DIST += %D%/agents.py %D%/sayer.py %D%/upstream_app.py
bench-agents: all $(check_PROGRAMS)
	HUTCH_BUILD='$(abs_top_builddir)' $(PYTHON3) \
		$(abs_top_srcdir)/%D%/agents.py $(BENCH_ARGS)
.PHONY: bench-agents

check_PROGRAMS += tests/bench/sse_bench
tests_bench_sse_bench_SOURCES = %D%/sse_bench.c
tests_bench_sse_bench_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_bench_sse_bench_LDADD = libweb.a libengine.a libjson.a libwire.a \
	libbase.a $(JANSSON_LIBS) $(EVENT_LIBS)
