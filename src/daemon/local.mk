# programs of this folder

pkglibexec_PROGRAMS += hutch-fetch
hutch_fetch_SOURCES = %D%/fetch.c
hutch_fetch_LDADD = $(ROOTFS_LIBS) libwire.a libbase.a
