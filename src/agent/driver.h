/*
 * driver: rootfs/ipython/hutch_cell.py, as bytes; made by the build.
 */
#ifndef AGENT_DRIVER_H
#define AGENT_DRIVER_H

#include <stddef.h>

extern const unsigned char driver[];
extern const size_t driver_len;

#endif
