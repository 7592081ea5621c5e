/*
 * uuid: names that nobody has used before.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#define UUID_TEXT 37 /* 36 characters and a NUL */

/* A random one, version 4, in lower case.  Not after a fork. */
void uuid_put(char out[UUID_TEXT]);

#endif
