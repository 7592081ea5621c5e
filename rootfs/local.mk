noinst_LIBRARIES += librootfs.a
librootfs_a_SOURCES = 
EXTRA_DIST += rootfs/boxes/base.conf rootfs/boxes/base/requirements.txt
