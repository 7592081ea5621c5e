noinst_LIBRARIES += libisolator.a
libisolator_a_CPPFLAGS = $(AM_CPPFLAGS) $(NLROUTE_CFLAGS)
libisolator_a_SOURCES = %D%/backend.h %D%/cgroup.h 
libisolator_a_SOURCES += %D%/net.c %D%/net.h %D%/net_link.c %D%/net_link.h \
	%D%/net_rules.c %D%/net_rules.h %D%/net_worker.c %D%/net_worker.h
