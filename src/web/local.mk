noinst_LIBRARIES += libweb.a
libweb_a_SOURCES = %D%/http.h %D%/route.h
libweb_a_CPPFLAGS = $(AM_CPPFLAGS) $(EVENTALL_CFLAGS) $(JANSSON_CFLAGS)

# The routes' own: what is answered.
libweb_a_SOURCES += %D%/api.h %D%/app.c %D%/app.h %D%/jtext.c %D%/jtext.h \
	%D%/mcp.c %D%/mcp.h %D%/plain.c %D%/plain.h %D%/record.c \
	%D%/record.h %D%/result.c %D%/result.h %D%/rpc.c %D%/rpc.h \
	%D%/rpc_sandbox.c %D%/toolresult.c %D%/toolresult.h \
	%D%/trail.c %D%/trail.h %D%/work.c %D%/work.h
