noinst_LIBRARIES += libweb.a
libweb_a_SOURCES = %D%/http.h %D%/route.h %D%/api.h
