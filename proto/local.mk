EXTRA_DIST += %D%/guest.proto
BUILT_SOURCES += %D%/guest.pb-c.c %D%/guest.pb-c.h
CLEANFILES += %D%/guest.pb-c.c %D%/guest.pb-c.h

%D%/guest.pb-c.h: %D%/guest.pb-c.c
	@:
%D%/guest.pb-c.c: $(srcdir)/proto/guest.proto
	$(AM_V_GEN)$(MKDIR_P) proto && $(PROTOC_C) --c_out=proto \
		-I$(srcdir)/proto $(srcdir)/proto/guest.proto
