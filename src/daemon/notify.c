#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/own.h"
#include "daemon/notify.h"

void
notify_say(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char text[128];
	auto_fd int fd = -1;
	socklen_t n;

	if (path == NULL || (*path != '/' && *path != '@') ||
	    strlen(path) >= sizeof a.sun_path)
		return;
	memcpy(a.sun_path, path, strlen(path));
	n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (*path == '@')
		a.sun_path[0] = '\0';
	snprintf(text, sizeof text, "%s\nMONOTONIC_USEC=%lld\n", state,
	    (long long)clock_us());
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		    (struct sockaddr *)&a, n);
}
