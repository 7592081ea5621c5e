noinst_LIBRARIES += libstore.a
libstore_a_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
libstore_a_SOURCES = %D%/db.c %D%/db.h %D%/journal.c %D%/journal.h \
	%D%/history.c %D%/history.h \
	%D%/memory.c %D%/memory.h %D%/service.c %D%/service.h \
	%D%/state.c %D%/state.h %D%/tasks.c %D%/tasks.h \
	%D%/a2a_tasks.c %D%/a2a_tasks.h \
	%D%/responses.c %D%/responses.h \
	%D%/journal_agent.c %D%/journal_int.h
