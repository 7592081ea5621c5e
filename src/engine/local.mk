noinst_LIBRARIES += libengine.a
libengine_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libengine_a_SOURCES = %D%/deployment.h %D%/engine.c %D%/engine.h \
	%D%/event.h %D%/feed.h %D%/line.h %D%/reply.h %D%/run.h
