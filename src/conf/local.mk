noinst_LIBRARIES += libconf.a
libconf_a_SOURCES = %D%/adopt.c %D%/conf.c %D%/conf.h %D%/config.h %D%/help.c %D%/list.c %D%/models.c %D%/models.h \
	%D%/list.h %D%/option.c %D%/option.h %D%/read.c %D%/section.c %D%/section.h %D%/value.c %D%/value.h
