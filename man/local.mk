dist_man_MANS += %D%/hutch.1 %D%/hutch-agent.8 %D%/hutch-fetch.8 \
	%D%/hutch-front.8 %D%/hutch-model.8 %D%/hutch-privsep.7 %D%/hutch-worker.7 %D%/hutchd.8 \
	%D%/runtime-sandbox-server.8

# Its lists come from the table that reads the file, so they can't be wrong.
noinst_PROGRAMS += man/options
man_options_SOURCES = %D%/options.c
man_options_LDADD = libconf.a libbase.a $(INIH_LIBS)
nodist_man_MANS = %D%/hutch.conf.5
EXTRA_DIST += %D%/hutch.conf.5.in
CLEANFILES += %D%/hutch.conf.5
%D%/hutch.conf.5: $(srcdir)/%D%/hutch.conf.5.in man/options$(EXEEXT)
	$(AM_V_GEN)man/options$(EXEEXT) >$@.list && $(AWK) -v list=$@.list \
		'/^@OPTIONS@$$/ { while ((getline line < list) > 0) print line; \
		next } { print }' $(srcdir)/%D%/hutch.conf.5.in >$@.new && \
		rm $@.list && mv $@.new $@

dist_check_SCRIPTS += %D%/man.t
TESTS += %D%/man.t
