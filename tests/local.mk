include $(srcdir)/tests/unit/local.mk
include $(srcdir)/tests/sys/local.mk
include $(srcdir)/tests/api/local.mk
include $(srcdir)/tests/fuzz/local.mk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
