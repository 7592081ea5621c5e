noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = %D%/broker.h %D%/frame.c %D%/frame.h %D%/link.c \
	%D%/link.h %D%/loop.c %D%/loop.h %D%/model.c %D%/model.h
