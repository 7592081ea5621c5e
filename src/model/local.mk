noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = %D%/endpoint.c %D%/endpoint.h %D%/post.c %D%/post.h %D%/redact.c %D%/redact.h \
	%D%/script.c %D%/script.h %D%/serve.c %D%/serve.h %D%/stub.c \
	%D%/stub.h
libmodel_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
MODEL_LIBS = libmodel.a libwire.a libbase.a $(CURL_LIBS) $(JANSSON_LIBS) \
	$(EVENT_LIBS)
