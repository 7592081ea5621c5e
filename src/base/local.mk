noinst_LIBRARIES += libbase.a
base_sources = \
	%D%/clock.c %D%/clock.h %D%/err.c %D%/err.h %D%/file.c %D%/file.h \
	%D%/log.c %D%/log.h %D%/own.h %D%/path.c %D%/path.h \
	%D%/sha256.c %D%/sha256.h %D%/str.c %D%/str.h \
	%D%/utf8.c %D%/utf8.h %D%/uuid.c %D%/uuid.h
libbase_a_SOURCES = $(base_sources)
