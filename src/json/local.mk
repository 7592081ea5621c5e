# Text of the outside world's: never linked by the broker.
noinst_LIBRARIES += libjson.a
libjson_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libjson_a_SOURCES = %D%/jtext.c %D%/jtext.h
