include $(srcdir)/tests/unit/local.mk
include $(srcdir)/tests/sys/local.mk
include $(srcdir)/tests/api/local.mk
include $(srcdir)/tests/fuzz/local.mk
include $(srcdir)/tests/sdk/local.mk
include $(srcdir)/tests/py/local.mk
include $(srcdir)/tests/clients/local.mk

include $(srcdir)/tests/bench/local.mk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

EXTRA_DIST += tests/bench/bench.py
check_PROGRAMS += tests/bench/first
tests_bench_first_SOURCES = tests/bench/first.c
# Ours beside bwrap, crun and runc, in one run; minutes, root.
bench: all tests/bench/first
	HUTCH_BUILD='$(abs_top_builddir)' $(PYTHON3) \
		$(abs_top_srcdir)/tests/bench/bench.py $(BENCH_ARGS)
.PHONY: bench
