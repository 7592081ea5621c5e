/*
 * libcap-ng is one object, and a function of it that nobody here calls looks
 * users up.  In a static program that would link all of libc's name service,
 * which then wants shared libraries of the image.  There are no names here.
 */
#include <grp.h>
#include <pwd.h>
#include <stddef.h>

struct passwd *
getpwuid(uid_t uid)
{
	(void)uid;
	return NULL;
}

int
initgroups(const char *user, gid_t group)
{
	(void)user;
	(void)group;
	return -1;
}
