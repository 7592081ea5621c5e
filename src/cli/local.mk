# The command line, as a library too: its tests link the modules.
noinst_LIBRARIES += libcli.a
libcli_a_SOURCES = %D%/agent.c %D%/agent.h %D%/agent_chat.c \
	%D%/agent_deploy.c %D%/api.c %D%/api.h %D%/cli.h %D%/commands.c \
	%D%/complete.c %D%/copy.c %D%/doctor.c %D%/exec.c %D%/exec.h %D%/host.c %D%/image.c %D%/lend.c \
	%D%/lend.h %D%/life.c %D%/list.c %D%/model_stub.c %D%/options.c %D%/options.h \
	%D%/pack.c %D%/pack.h %D%/probe.h %D%/probe_box.c %D%/probe_host.c %D%/probe_kernel.c \
	%D%/probe_net.c %D%/progress.c %D%/progress.h %D%/receive.c \
	%D%/receive.h %D%/run.c %D%/table.c %D%/table.h %D%/term.c %D%/term.h
libcli_a_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"'
libcli_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS) \
	$(ARCHIVE_CFLAGS)
CLI_LIBS = libcli.a libmodel.a libweb.a libjson.a libguest.a libisolator.a libconf.a librootfs.a libwire.a libbase.a $(CURL_LIBS) \
	$(JANSSON_LIBS) $(ARCHIVE_LIBS) $(CRYPTO_LIBS) $(INIH_LIBS) \
	$(PROTOBUFC_LIBS) $(EVENT_LIBS) $(CAPNG_LIBS) $(SECCOMP_LIBS) \
	$(NLROUTE_LIBS) -lm

bin_PROGRAMS += hutch
hutch_SOURCES = %D%/main.c
hutch_LDADD = $(CLI_LIBS)

bin_SCRIPTS += %D%/runtime-sandbox-server
EXTRA_DIST += %D%/runtime-sandbox-server.in
CLEANFILES += %D%/runtime-sandbox-server
%D%/runtime-sandbox-server: $(srcdir)/%D%/runtime-sandbox-server.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed 's,@sbin[d]ir@,$(sbindir),' \
		$(srcdir)/%D%/runtime-sandbox-server.in >$@.tmp && \
		chmod 755 $@.tmp && mv -f $@.tmp $@
