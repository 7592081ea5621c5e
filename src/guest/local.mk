noinst_LIBRARIES += libguest.a
libguest_a_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUFC_CFLAGS) $(JANSSON_CFLAGS)
libguest_a_SOURCES = %D%/call.c %D%/event.c %D%/event.h %D%/guest.h %D%/inner.h \
	%D%/registry.c %D%/registry.h %D%/request.c %D%/request.h \
	%D%/schema.c %D%/schema.h %D%/stream.c
nodist_libguest_a_SOURCES = proto/guest.pb-c.c
