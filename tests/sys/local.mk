# tests/sys

check_PROGRAMS += tests/sys/net_try
tests_sys_net_try_SOURCES = %D%/net_try.c
tests_sys_net_try_LDADD = libisolator.a libwire.a libbase.a $(NLROUTE_LIBS)
dist_check_SCRIPTS += %D%/net.t
TESTS += %D%/net.t
