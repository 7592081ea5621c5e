#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/uuid.h"

/* One system call for 64 of them. */
static uint8_t pool[1024];
static size_t left;

static const uint8_t *
sixteen(void)
{
	if (left == 0) {
		size_t have = 0;

		while (have < sizeof pool) {
			ssize_t n =
			    getrandom(pool + have, sizeof pool - have, 0);

			if (n < 0)
				abort();
			have += (size_t)n;
		}
		left = sizeof pool;
	}
	left -= 16;
	return pool + left;
}

void
uuid_put(char out[UUID_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t b[16];
	char *to = out;

	memcpy(b, sixteen(), sizeof b);
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof b; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[b[i] >> 4];
		*to++ = digits[b[i] & 15];
	}
	*to = '\0';
}
