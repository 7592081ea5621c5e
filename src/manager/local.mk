noinst_LIBRARIES += libmanager.a
libmanager_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libmanager_a_SOURCES = %D%/acts.c %D%/adopt.c %D%/archive.c \
	%D%/broker_call.c %D%/broker_call.h %D%/control.c %D%/core.c %D%/count.c %D%/create.c \
	%D%/end.c %D%/env.c %D%/env.h %D%/image.c %D%/image.h %D%/inner.h \
	%D%/life.c %D%/life.h %D%/manager.h %D%/pool.c %D%/purge.c \
	%D%/reap.c %D%/restore.c %D%/row.c %D%/sandbox.c %D%/session.c %D%/state.h \
	%D%/table.c %D%/table.h %D%/wait.c %D%/warm.c
