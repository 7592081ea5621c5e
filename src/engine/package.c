#include "engine/package.h"

/* PACKAGE_TAR: its path, from the makefile. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"package_begin:\n"
	".incbin \"" PACKAGE_TAR "\"\n"
	"package_end:\n"
	".byte 0\n"
	".previous\n");

extern const char package_begin[] __attribute__((visibility("hidden")));
extern const char package_end[] __attribute__((visibility("hidden")));

const void *
package_tar(size_t *n)
{
	*n = (size_t)(package_end - package_begin);
	return package_begin;
}
