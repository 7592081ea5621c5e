noinst_LIBRARIES += libisolator.a
libisolator_a_SOURCES = %D%/backend.h %D%/cgroup.h 
