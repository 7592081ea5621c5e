# The static agent.  It is compiled in a flavour of its own (AGENT_*), so the
# sources it shares with the host programs are listed, not linked.
pkglibexec_PROGRAMS += hutch-agent
agent_sources = %D%/agent.c %D%/agent.h %D%/call.c %D%/call.h %D%/cap.c \
	%D%/cap.h %D%/cell.c %D%/cell.h %D%/draft.c %D%/draft.h %D%/driver.h \
	%D%/env.c %D%/env.h %D%/fs.c %D%/fs.h %D%/hunt.c %D%/hunt.h \
	%D%/interp.c %D%/interp.h %D%/nonames.c %D%/pump.c %D%/pump.h \
	%D%/reap.c %D%/reap.h %D%/run.c %D%/run.h %D%/spawn.c %D%/spawn.h \
	%D%/stream.c %D%/stream.h %D%/tar.c %D%/tar.h %D%/tool.c %D%/tool.h \
	%D%/tool_cell.c %D%/tool_exec.c %D%/tool_fs_list.c \
	%D%/tool_fs_name.c %D%/tool_fs_read.c %D%/tool_fs_remove.c \
	%D%/tool_fs_tar.c %D%/tool_fs_untar.c %D%/tool_fs_write.c \
	%D%/tool_shell.c %D%/tools.c %D%/tools.h %D%/turn.c %D%/turn.h %D%/walk.c %D%/walk.h \
	%D%/world.h
hutch_agent_SOURCES = %D%/main.c $(agent_sources) $(base_sources) \
	$(isolator_stage_sources) $(isolator_static_sources) \
	src/wire/frame.c src/wire/loop.c
nodist_hutch_agent_SOURCES = proto/guest.pb-c.c %D%/driver.c
hutch_agent_CFLAGS = $(HUTCH_CFLAGS) $(AGENT_CFLAGS) $(PROTOBUFC_CFLAGS) \
	$(EVENT_CFLAGS)
hutch_agent_LDFLAGS = $(HUTCH_LDFLAGS) $(AGENT_LDFLAGS)
hutch_agent_LDADD = $(PROTOBUFC_LIBS) $(EVENT_LIBS) $(CAPNG_LIBS)

# The Python side of cells travels inside the agent.
EXTRA_DIST += rootfs/ipython/hutch_cell.py
CLEANFILES += %D%/driver.c
%D%/driver.c: $(srcdir)/rootfs/ipython/hutch_cell.py
	$(AM_V_GEN)$(MKDIR_P) %D% && { \
	echo '#include "agent/driver.h"'; \
	echo 'const unsigned char driver[] = {'; \
	od -An -v -tx1 $(srcdir)/rootfs/ipython/hutch_cell.py | \
		sed 's/ \(..\)/0x\1,/g'; \
	echo '};'; \
	echo 'const size_t driver_len = sizeof driver;'; } >$@.tmp && mv $@.tmp $@
# What the broker reads for zygotes.
driverdir = $(pkglibexecdir)
dist_driver_DATA = rootfs/ipython/hutch_cell.py rootfs/zygote/hutch_zygote.py
# ... and beside the programs where those run from the build tree.
noinst_DATA += hutch_cell.py hutch_zygote.py
CLEANFILES += hutch_cell.py hutch_zygote.py
hutch_cell.py: rootfs/ipython/hutch_cell.py
	$(AM_V_GEN)cp $< $@
hutch_zygote.py: rootfs/zygote/hutch_zygote.py
	$(AM_V_GEN)cp $< $@
