noinst_LIBRARIES += libmanager.a
libmanager_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libmanager_a_SOURCES = %D%/broker_call.c %D%/broker_call.h \
	%D%/life.c %D%/life.h %D%/manager.h %D%/table.c %D%/table.h
