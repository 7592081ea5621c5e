/*
 * export: a directory tree becomes a tar stream.
 *
 * pax format, kept to what every tar reads without complaint (so times are in
 * whole seconds); owners as they are, hard links as such, names in order, so
 * that equal trees give equal bytes.  Walks by descriptor, follows
 * no link, crosses into no other file system.  Sockets and devices stay out.
 */
#ifndef ROOTFS_EXPORT_H
#define ROOTFS_EXPORT_H

#include <stdint.h>

struct err;

struct export_to {
	int fd;                               /* where the tar goes; blocking */
	void (*tick)(void *, uint64_t bytes); /* may be NULL */
	void *arg;
};

int export_tree(int dir, const struct export_to *, struct err *);

#endif
