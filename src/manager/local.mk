noinst_LIBRARIES += libmanager.a
libmanager_a_SOURCES = %D%/manager.h 
