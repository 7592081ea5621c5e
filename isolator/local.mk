noinst_LIBRARIES += libisolator.a
libisolator_a_CPPFLAGS = $(AM_CPPFLAGS) $(NLROUTE_CFLAGS) $(SECCOMP_CFLAGS)
# What the static agent compiles in; it links libcap-ng besides.
isolator_stage_sources = %D%/caps.c %D%/caps.h %D%/landlock.c \
	%D%/landlock.h %D%/mount.c %D%/mount.h \
	%D%/plan.c %D%/plan.h %D%/plan_run.c %D%/rlimit.c %D%/rlimit.h \
	%D%/spec.c %D%/spec.h %D%/stage.c %D%/stage.h
# ... and this, which only a static program may have.
isolator_static_sources = %D%/nss_none.c
libisolator_a_SOURCES = $(isolator_stage_sources) \
	%D%/backend.h %D%/backend_ns.c \
	%D%/cgroup.h %D%/cgroup_tree.c %D%/cgroup_tree.h %D%/cgroup_hybrid.c \
	%D%/cgroup_layout.c %D%/cgroup_open.c %D%/cgroup_v2.c \
	%D%/confined.c %D%/host.c %D%/host.h %D%/idmap.c %D%/idmap.h %D%/nest.c %D%/nest.h \
	%D%/ns.c %D%/ns.h %D%/profile.c %D%/profile.h %D%/raw.h \
	%D%/root.c %D%/root.h %D%/seccomp.c %D%/seccomp.h \
	%D%/seccomp_box.h %D%/seccomp_hardened.h %D%/seccomp_own.h \
	%D%/seccomp_rule.c %D%/seccomp_rule.h %D%/template.c %D%/template.h
libisolator_a_SOURCES += %D%/zygote.c %D%/zygote.h %D%/net.c %D%/net.h %D%/net_link.c %D%/net_link.h \
	%D%/net_rules.c %D%/net_rules.h %D%/net_worker.c %D%/net_worker.h
