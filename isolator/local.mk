noinst_LIBRARIES += libisolator.a
libisolator_a_CPPFLAGS = $(AM_CPPFLAGS) $(NLROUTE_CFLAGS)
# What the static agent compiles in; the broker needs the spec of it too.
isolator_stage_sources = %D%/spec.c %D%/spec.h %D%/stage.h
libisolator_a_SOURCES = %D%/backend.h %D%/cgroup.h $(isolator_stage_sources)
libisolator_a_SOURCES += %D%/net.c %D%/net.h %D%/net_link.c %D%/net_link.h \
	%D%/net_rules.c %D%/net_rules.h %D%/net_worker.c %D%/net_worker.h
