noinst_LIBRARIES += libguest.a
libguest_a_SOURCES = %D%/guest.h
nodist_libguest_a_SOURCES = proto/guest.pb-c.c
