# What a host needs around the programs: unit, group, directories, completion.
EXTRA_DIST += %D%/hutch.service.in %D%/hutch.sysusers %D%/hutch.tmpfiles
CLEANFILES += %D%/hutch.service %D%/hutch.bash
noinst_DATA += %D%/hutch.service %D%/hutch.bash

# Spelled so that configure leaves the pattern alone.
%D%/hutch.service: $(srcdir)/%D%/hutch.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed 's|@sbin[d]ir@|$(sbindir)|' \
		$(srcdir)/%D%/hutch.service.in >$@
# The program prints its own completion.
%D%/hutch.bash: hutch$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D% && ./hutch$(EXEEXT) completion bash >$@

completiondir = $(datadir)/bash-completion/completions
install-data-local: install-system
install-system: %D%/hutch.service %D%/hutch.bash
	$(MKDIR_P) '$(DESTDIR)$(systemdsystemunitdir)' \
		'$(DESTDIR)$(sysusersdir)' '$(DESTDIR)$(tmpfilesdir)' \
		'$(DESTDIR)$(completiondir)'
	$(INSTALL_DATA) %D%/hutch.service '$(DESTDIR)$(systemdsystemunitdir)'
	$(INSTALL_DATA) $(srcdir)/%D%/hutch.sysusers \
		'$(DESTDIR)$(sysusersdir)/hutch.conf'
	$(INSTALL_DATA) $(srcdir)/%D%/hutch.tmpfiles \
		'$(DESTDIR)$(tmpfilesdir)/hutch.conf'
	$(INSTALL_DATA) %D%/hutch.bash '$(DESTDIR)$(completiondir)/hutch'
uninstall-local: uninstall-system
uninstall-system:
	rm -f '$(DESTDIR)$(systemdsystemunitdir)/hutch.service' \
		'$(DESTDIR)$(sysusersdir)/hutch.conf' \
		'$(DESTDIR)$(tmpfilesdir)/hutch.conf' \
		'$(DESTDIR)$(completiondir)/hutch'
uninstall-hook:
	-rmdir '$(DESTDIR)$(pkglibexecdir)' 2>/dev/null || :
.PHONY: install-system uninstall-system

dist_check_SCRIPTS += %D%/system.t
TESTS += %D%/system.t
