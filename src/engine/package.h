/*
 * package: the Python package hutch_agent, as a tar inside this program.
 *
 * So it always fits the daemon, and no file is needed at run time.
 */
#ifndef ENGINE_PACKAGE_H
#define ENGINE_PACKAGE_H

#include <stddef.h>

const void *package_tar(size_t *n);

#endif
