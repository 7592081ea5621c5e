# tests/sys

check_PROGRAMS += tests/sys/net_try
tests_sys_net_try_SOURCES = %D%/net_try.c
tests_sys_net_try_LDADD = libisolator.a libwire.a libbase.a $(NLROUTE_LIBS)
dist_check_SCRIPTS += %D%/net.t
TESTS += %D%/net.t

# hutch-agent --bare: no root, no sandbox; a stream and what comes over it.
EXTRA_DIST += tests/lib/guestwire.py tests/lib/ipython.py tests/lib/tap.py
dist_check_SCRIPTS += %D%/agent_shell.t %D%/agent_exec.t %D%/agent_cell.t \
	%D%/agent_files.t
TESTS += %D%/agent_shell.t %D%/agent_exec.t %D%/agent_cell.t \
	%D%/agent_files.t

# The fetcher against the corpus of OCI layouts, without a daemon.
check_PROGRAMS += tests/sys/fetchtry
tests_sys_fetchtry_SOURCES = %D%/fetchtry.c
tests_sys_fetchtry_LDADD = $(ROOTFS_LIBS) libwire.a libbase.a
dist_check_SCRIPTS += %D%/corpus.t %D%/images.t
TESTS += %D%/corpus.t %D%/images.t
EXTRA_DIST += tests/corpus tests/lib/ocitar.py

# The isolator by itself: boxtry drives it, boxpay runs inside.
ISOLATOR_LIBS = libisolator.a libwire.a libbase.a $(CAPNG_LIBS) \
	$(SECCOMP_LIBS) $(NLROUTE_LIBS)
check_PROGRAMS += tests/sys/boxtry tests/sys/boxpay
tests_sys_boxtry_SOURCES = %D%/boxtry.c %D%/boxtry.h %D%/boxtry_more.c
tests_sys_boxtry_LDADD = $(ISOLATOR_LIBS)
tests_sys_boxpay_SOURCES = %D%/boxpay.c $(isolator_stage_sources) \
	$(isolator_static_sources) $(base_sources)
tests_sys_boxpay_CFLAGS = $(HUTCH_CFLAGS) $(AGENT_CFLAGS)
tests_sys_boxpay_LDFLAGS = $(HUTCH_LDFLAGS) $(AGENT_LDFLAGS)
tests_sys_boxpay_LDADD = $(CAPNG_LIBS)
check_PROGRAMS += tests/sys/ownprobe
tests_sys_ownprobe_SOURCES = %D%/ownprobe.c
check_PROGRAMS += tests/sys/probe
tests_sys_probe_SOURCES = %D%/probe.c %D%/probe.h %D%/probe_abi.c \
	%D%/probe_more.c %D%/probe_net.c
tests_sys_probe_CFLAGS = $(HUTCH_CFLAGS) $(AGENT_CFLAGS)
tests_sys_probe_LDFLAGS = $(HUTCH_LDFLAGS) $(AGENT_LDFLAGS)
EXTRA_DIST += %D%/boxes.py
dist_check_SCRIPTS += %D%/isolator.t %D%/attacks_setup.t %D%/attacks_kernel.t \
	%D%/attacks_doors.t %D%/confined.t
TESTS += %D%/isolator.t %D%/attacks_setup.t %D%/attacks_kernel.t \
	%D%/attacks_doors.t %D%/confined.t

dist_check_SCRIPTS += %D%/doctor.t
TESTS += %D%/doctor.t

# The broker by itself: fronttry stands in for the front, and takes commands.
check_PROGRAMS += tests/sys/fronttry
tests_sys_fronttry_SOURCES = %D%/fronttry.c
tests_sys_fronttry_LDADD = libwire.a libbase.a
EXTRA_DIST += tests/lib/daemon.py tests/lib/layout.py tests/lib/live.py
dist_check_SCRIPTS += %D%/first.t %D%/linkage.t %D%/hutchd.t %D%/import.t %D%/whole.t %D%/deaths.t
TESTS += %D%/first.t %D%/linkage.t %D%/hutchd.t %D%/import.t %D%/whole.t %D%/deaths.t

check_PROGRAMS += tests/sys/zygote_try
tests_sys_zygote_try_SOURCES = %D%/zygote_try.c
tests_sys_zygote_try_LDADD = $(ISOLATOR_LIBS) libwire.a libbase.a
EXTRA_DIST += tests/lib/basetree.py
dist_check_SCRIPTS += %D%/zygote.t
TESTS += %D%/zygote.t

dist_check_SCRIPTS += %D%/model.t
TESTS += %D%/model.t
dist_check_SCRIPTS += %D%/cli.t
TESTS += %D%/cli.t

# Deaths and crowds, each alone in namespaces of its own.
EXTRA_DIST += tests/lib/chaos.py
dist_check_SCRIPTS += %D%/chaos_front.t %D%/chaos_broker.t %D%/chaos_fetch.t %D%/crowd.t
TESTS += %D%/chaos_front.t %D%/chaos_broker.t %D%/chaos_fetch.t %D%/crowd.t

# Attacks through the whole daemon; tests/ATTACKS.md says which are where.
EXTRA_DIST += tests/lib/attacked.py
check_PROGRAMS += tests/sys/evilagent
tests_sys_evilagent_SOURCES = %D%/evilagent.c $(isolator_stage_sources) \
	$(isolator_static_sources) $(base_sources)
tests_sys_evilagent_CFLAGS = $(HUTCH_CFLAGS) $(AGENT_CFLAGS)
tests_sys_evilagent_LDFLAGS = $(HUTCH_LDFLAGS) $(AGENT_LDFLAGS)
tests_sys_evilagent_LDADD = $(CAPNG_LIBS)
EXTRA_DIST += tests/ATTACKS.md
dist_check_SCRIPTS += %D%/attacks_net.t %D%/attacks_guest.t \
	%D%/attacks_agent.t %D%/attacks_api.t
TESTS += %D%/attacks_net.t %D%/attacks_guest.t %D%/attacks_agent.t \
	%D%/attacks_api.t

dist_check_SCRIPTS += %D%/attacks_net.t %D%/attacks_guest.t
TESTS += %D%/attacks_net.t %D%/attacks_guest.t

dist_check_SCRIPTS += %D%/leak.t
TESTS += %D%/leak.t

# A gigabyte in each direction.
dist_check_SCRIPTS += %D%/big_file.t
TESTS += %D%/big_file.t

# Agents of code.
dist_check_SCRIPTS += %D%/agent_services.t
TESTS += %D%/agent_services.t
EXTRA_DIST += tests/lib/agents.py
dist_check_SCRIPTS += %D%/agent_app.t %D%/chaos_agent.t
TESTS += %D%/agent_app.t %D%/chaos_agent.t
dist_check_SCRIPTS += %D%/tour.t
TESTS += %D%/tour.t
dist_check_SCRIPTS += %D%/agent_protocols.t
TESTS += %D%/agent_protocols.t
