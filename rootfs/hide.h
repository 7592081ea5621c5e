/*
 * hide: what a layer's whiteouts and opaque marks do to the layers below.
 *
 * Everything is said with whiteouts (character device 0:0), one for each name
 * that would show through: an opaque directory's too.  So it needs no
 * privileged attribute, and whoever can list a layer knows all it hides.  A
 * whiteout is made only where something is hidden, since an overlay shows
 * those in directories that it needn't merge.
 */
#ifndef ROOTFS_HIDE_H
#define ROOTFS_HIDE_H

struct err;
struct unpack;

/* All marks in u->late; leaves it sorted. */
int hide_apply(struct unpack *u, struct err *);

#endif
