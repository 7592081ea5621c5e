# programs of this folder

pkglibexec_PROGRAMS += hutch-fetch
hutch_fetch_SOURCES = %D%/fetch.c
hutch_fetch_LDADD = $(ROOTFS_LIBS) libwire.a libbase.a

# All of hutchd but its main, so that tests can reach it.
noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = %D%/admin.c %D%/admin.h %D%/blanks.c %D%/blanks.h %D%/boxes.c %D%/boxes.h \
	%D%/broker.c %D%/broker.h %D%/check.c %D%/check.h %D%/front.c \
	%D%/front.h %D%/images.c %D%/images.h %D%/job.c %D%/job.h \
	%D%/later.c %D%/later.h %D%/lent.c %D%/lent.h %D%/listen.c %D%/listen.h %D%/model.c %D%/model.h %D%/notify.c \
	%D%/notify.h %D%/options.c %D%/options.h %D%/peer.c %D%/peer.h \
	%D%/reload.c %D%/reload.h %D%/serve.h %D%/serve_box.c \
	%D%/serve_image.c %D%/serve_start.c %D%/slots.c %D%/slots.h \
	%D%/state.c %D%/state.h %D%/trash.c %D%/trash.h %D%/warm.c %D%/warm.h %D%/wayout.c %D%/wayout.h

sbin_PROGRAMS += hutchd
hutchd_SOURCES = %D%/hutchd.c %D%/setup.c %D%/setup.h
hutchd_LDADD = libdaemon.a libisolator.a libconf.a libwire.a libbase.a \
	$(EVENT_LIBS) $(INIH_LIBS) $(CAPNG_LIBS) $(SECCOMP_LIBS) $(NLROUTE_LIBS)

pkglibexec_PROGRAMS += hutch-front
hutch_front_SOURCES = %D%/front_main.c
hutch_front_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
hutch_front_LDADD = libweb.a libengine.a libmanager.a libguest.a libstore.a \
	libjson.a libconf.a libwire.a libbase.a $(EVENTALL_LIBS) $(JANSSON_LIBS) \
	$(PROTOBUFC_LIBS) $(SQLITE_LIBS) $(INIH_LIBS)

pkglibexec_PROGRAMS += hutch-model
hutch_model_SOURCES = %D%/model_main.c
hutch_model_LDADD = $(MODEL_LIBS)
