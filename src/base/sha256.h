/*
 * sha256: the digest, for programs that may not link a crypto library.
 *
 * For names and tokens, not for volume: no assembly.  Who hashes layers uses
 * libcrypto.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

void sha256(uint8_t out[SHA256_BYTES], const void *bytes, size_t n);

#endif
