# A harness is NAME_fuzz.c with LLVMFuzzerTestOneInput, a corpus in
# corpus/NAME/, and three lines here:
#	FUZZERS += tests/fuzz/NAME_fuzz
#	tests_fuzz_NAME_fuzz_SOURCES = %D%/NAME_fuzz.c $(FUZZ_MAIN)
#	tests_fuzz_NAME_fuzz_LDADD = what it needs $(FUZZ_LIBS)
# Ordinary builds replay the corpora in make check; one with --enable-fuzz and
# clang looks for more: make fuzz, which elsewhere makes such a build first
# (scripts/fuzz, in the tree's build-fuzz).
FUZZERS =
FUZZ_RUNS = 200000
if FUZZ
FUZZ_MAIN =
else
FUZZ_MAIN = %D%/replay.c
TESTS += $(FUZZERS)
endif
check_PROGRAMS += $(FUZZERS)
EXTRA_DIST += tests/fuzz/corpus

WEB_FUZZ_LIBS = libweb.a libjson.a libwire.a libbase.a $(JANSSON_LIBS) $(EVENT_LIBS) \
	$(FUZZ_LIBS)

FUZZERS += tests/fuzz/http_fuzz
tests_fuzz_http_fuzz_SOURCES = %D%/http_fuzz.c $(FUZZ_MAIN)
tests_fuzz_http_fuzz_LDADD = $(WEB_FUZZ_LIBS)

FUZZERS += tests/fuzz/server_fuzz
tests_fuzz_server_fuzz_SOURCES = %D%/server_fuzz.c $(FUZZ_MAIN)
tests_fuzz_server_fuzz_LDADD = $(WEB_FUZZ_LIBS)

FUZZERS += tests/fuzz/multipart_fuzz
tests_fuzz_multipart_fuzz_SOURCES = %D%/multipart_fuzz.c $(FUZZ_MAIN)
tests_fuzz_multipart_fuzz_LDADD = $(WEB_FUZZ_LIBS)

FUZZERS += tests/fuzz/text_fuzz
tests_fuzz_text_fuzz_SOURCES = %D%/text_fuzz.c $(FUZZ_MAIN)
tests_fuzz_text_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_text_fuzz_LDADD = $(WEB_FUZZ_LIBS)

if FUZZ
fuzz: $(FUZZERS)
	@srcdir='$(srcdir)' FUZZ_RUNS='$(FUZZ_RUNS)' \
		$(srcdir)/scripts/fuzz run $(FUZZERS)
else
fuzz:
	@FUZZ_RUNS='$(FUZZ_RUNS)' $(srcdir)/scripts/fuzz
endif
.PHONY: fuzz

ROOTFS_FUZZ_LIBS = $(ROOTFS_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/layer_fuzz
tests_fuzz_layer_fuzz_SOURCES = %D%/layer_fuzz.c $(FUZZ_MAIN)
tests_fuzz_layer_fuzz_LDADD = $(ROOTFS_FUZZ_LIBS)

FUZZERS += tests/fuzz/manifest_fuzz
tests_fuzz_manifest_fuzz_SOURCES = %D%/manifest_fuzz.c $(FUZZ_MAIN)
tests_fuzz_manifest_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_manifest_fuzz_LDADD = $(ROOTFS_FUZZ_LIBS)

FUZZERS += tests/fuzz/ref_fuzz
tests_fuzz_ref_fuzz_SOURCES = %D%/ref_fuzz.c $(FUZZ_MAIN)
tests_fuzz_ref_fuzz_LDADD = $(ROOTFS_FUZZ_LIBS)

FUZZERS += tests/fuzz/conf_fuzz
tests_fuzz_conf_fuzz_SOURCES = %D%/conf_fuzz.c $(FUZZ_MAIN)
tests_fuzz_conf_fuzz_LDADD = libconf.a libbase.a $(INIH_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/broker_fuzz
tests_fuzz_broker_fuzz_SOURCES = %D%/broker_fuzz.c tests/unit/bed.c $(FUZZ_MAIN)
tests_fuzz_broker_fuzz_LDADD = $(BED_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/frame_fuzz
tests_fuzz_frame_fuzz_SOURCES = %D%/frame_fuzz.c $(FUZZ_MAIN)
tests_fuzz_frame_fuzz_CFLAGS = $(AM_CFLAGS) $(PROTOBUFC_CFLAGS)
tests_fuzz_frame_fuzz_LDADD = libguest.a libwire.a libbase.a \
	$(PROTOBUFC_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/guest_fuzz
tests_fuzz_guest_fuzz_SOURCES = %D%/guest_fuzz.c $(FUZZ_MAIN)
tests_fuzz_guest_fuzz_LDADD = libguest.a libwire.a libbase.a \
	$(PROTOBUFC_LIBS) $(JANSSON_LIBS) $(EVENT_LIBS) -lm $(FUZZ_LIBS)

FUZZERS += tests/fuzz/line_fuzz
tests_fuzz_line_fuzz_SOURCES = %D%/line_fuzz.c $(FUZZ_MAIN)
tests_fuzz_line_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_line_fuzz_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/sse_fuzz
tests_fuzz_sse_fuzz_SOURCES = %D%/sse_fuzz.c $(FUZZ_MAIN)
tests_fuzz_sse_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_sse_fuzz_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/ask_fuzz
tests_fuzz_ask_fuzz_SOURCES = %D%/ask_fuzz.c $(FUZZ_MAIN)
tests_fuzz_ask_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_ask_fuzz_LDADD = libengine.a libjson.a libwire.a libbase.a \
	$(JANSSON_LIBS) $(FUZZ_LIBS)

FUZZERS += tests/fuzz/model_fuzz
tests_fuzz_model_fuzz_SOURCES = %D%/model_fuzz.c $(FUZZ_MAIN)
tests_fuzz_model_fuzz_LDADD = $(MODEL_LIBS) $(FUZZ_LIBS)
FUZZERS += tests/fuzz/doors_fuzz
tests_fuzz_doors_fuzz_SOURCES = %D%/doors_fuzz.c $(FUZZ_MAIN)
tests_fuzz_doors_fuzz_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_doors_fuzz_LDADD = libweb.a libengine.a libjson.a libwire.a \
	libbase.a $(JANSSON_LIBS) $(FUZZ_LIBS)
