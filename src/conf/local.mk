noinst_LIBRARIES += libconf.a
libconf_a_SOURCES = %D%/conf.h 
