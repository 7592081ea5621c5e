/*
 * libevent can resolve names, and so would link the resolver of libc, which
 * can't work in a static program (it loads objects of the guest's libc).  The
 * agent resolves nothing; these take the place of what would.
 */
#include <netdb.h>
#include <stddef.h>

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
    struct addrinfo **out)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)out;
	return EAI_FAIL;
}

void
freeaddrinfo(struct addrinfo *info)
{
	(void)info;
}

struct servent *
getservbyname(const char *name, const char *proto)
{
	(void)name;
	(void)proto;
	return NULL;
}

struct protoent *
getprotobynumber(int proto)
{
	(void)proto;
	return NULL;
}
