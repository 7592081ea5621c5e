noinst_LIBRARIES += libweb.a
# The server: how it is asked and answered.
libweb_a_SOURCES = %D%/auth.c %D%/auth.h %D%/conn.c %D%/http.h \
	%D%/http_int.h %D%/multipart.c %D%/multipart.h %D%/parse.c \
	%D%/parse.h %D%/reply.c %D%/req.c %D%/route.c %D%/route.h \
	%D%/server.c %D%/sock.c %D%/sock.h %D%/uri.c %D%/uri.h
libweb_a_CPPFLAGS = $(AM_CPPFLAGS) $(EVENTALL_CFLAGS) $(JANSSON_CFLAGS)

# The routes' own: what is answered.
libweb_a_SOURCES += %D%/api.h %D%/app.c %D%/app.h %D%/jtext.c %D%/jtext.h \
	%D%/mcp.c %D%/mcp.h %D%/plain.c %D%/plain.h %D%/record.c \
	%D%/record.h %D%/result.c %D%/result.h %D%/rpc.c %D%/rpc.h \
	%D%/rpc_sandbox.c %D%/toolresult.c %D%/toolresult.h \
	%D%/trail.c %D%/trail.h %D%/work.c %D%/work.h
