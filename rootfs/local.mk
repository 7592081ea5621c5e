noinst_LIBRARIES += librootfs.a
librootfs_a_SOURCES = 
