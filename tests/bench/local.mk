check_PROGRAMS += tests/bench/engine_bench
tests_bench_engine_bench_SOURCES = %D%/engine_bench.c
tests_bench_engine_bench_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_bench_engine_bench_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS)
