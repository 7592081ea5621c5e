noinst_LIBRARIES += librootfs.a
librootfs_a_SOURCES = %D%/attr.c %D%/attr.h %D%/choose.c %D%/choose.h \
	%D%/export.c %D%/export.h %D%/extract.c %D%/extract.h %D%/hide.c %D%/hide.h \
	%D%/image.c %D%/image.h %D%/late.c %D%/late.h %D%/layer.c %D%/layer.h \
	%D%/manifest.c %D%/manifest.h %D%/policy.c %D%/policy.h %D%/record.c \
	%D%/record.h %D%/ref.c %D%/ref.h %D%/spool.c %D%/spool.h %D%/stream.c \
	%D%/stream.h %D%/unpack.c %D%/unpack.h %D%/view.c %D%/view.h
librootfs_a_CFLAGS = $(AM_CFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS) \
	$(JANSSON_CFLAGS)
ROOTFS_LIBS = librootfs.a libbase.a $(ARCHIVE_LIBS) $(CRYPTO_LIBS) \
	$(JANSSON_LIBS)
EXTRA_DIST += rootfs/boxes/base.conf rootfs/boxes/base/requirements.txt
