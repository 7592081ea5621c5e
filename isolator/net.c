#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/net.h"
#include "isolator/net_link.h"
#include "isolator/net_rules.h"
#include "isolator/net_worker.h"
#include "wire/link.h"

#define NET_MAX 256
#define NET_LOW 4     /* so few are made up for at once, whoever is delayed */
#define NET_BURST 128 /* at most so many more are kept when many are taken */
#define UNDO "net-undo"

struct net {
	struct net_conf conf;
	char resolver[INET_ADDRSTRLEN];
	char prefix6[48]; /* "" no IPv6 */
	int worker;
	pid_t pid;
	uint32_t next; /* host part of the next address */
	unsigned want, asked;
	struct net_lease ready[NET_MAX];
	unsigned nready;
};

#define FLOWS_MOST 4096 /* at once, of one sandbox */

/* ---- what stop undoes ---- */

static void
undo(int state)
{
	auto_str struct str text = { 0 };
	struct err err = { 0 };
	char *save = NULL, *line;

	if (file_read_at(state, UNDO, &text, 65536, &err) < 0)
		return;
	str_putc(&text, '\n');
	for (line = strtok_r(text.at, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, '=');

		if (value == NULL || strstr(line, "..") != NULL)
			continue;
		*value++ = '\0';
		if (net_sysctl(line, value, &err) < 0)
			log_err(LOG_DEBUG, &err, "sysctl not put back", NULL);
	}
	unlinkat(state, UNDO, 0);
}

static int
remember(const struct net *n, const struct str *text, struct err *err)
{
	return file_replace_at(n->conf.state, UNDO, text->at, text->len, 0600,
	    err);
}

/* Remember what it was, then set it. */
static int
change(struct net *n, struct str *undo_text, const char *name,
    const char *value, struct err *err)
{
	char was[64];

	if (net_sysctl_read(name, was, sizeof was, err) < 0)
		return -1;
	if (strcmp(was, value) == 0)
		return 0;
	str_printf(undo_text, "%s=%s\n", name, was);
	if (remember(n, undo_text, err) < 0)
		return -1;
	return net_sysctl(name, value, err);
}

static int
forward6(struct net *n, struct str *text, const char *uplink, struct err *err)
{
	char name[96], ra[8];

	snprintf(name, sizeof name, "ipv6/conf/%s/force_forwarding", uplink);
	if (change(n, text, name, "1", err) == 0)
		return 0;
	if (!n->conf.nat6)
		return err_set(err, ERR_DENIED,
		    "this kernel forwards IPv6 for all links or none; set "
		    "nat6 = yes to allow it");
	snprintf(name, sizeof name, "ipv6/conf/%s/accept_ra", uplink);
	if (net_sysctl_read(name, ra, sizeof ra, err) == 0 && ra[0] == '1')
		change(n, text, name, "2", err);
	return change(n, text, "ipv6/conf/all/forwarding", "1", err);
}

static int
forwarding(struct net *n, struct err *err)
{
	auto_str struct str text = { 0 };
	struct nl_sock *s = net_link_open(err);
	char up[16] = "", up6[16] = "", name[96];
	struct err why = { 0 };

	if (s == NULL)
		return -1;
	str_puts(&text, "table\n"); /* that there is something to undo */
	if (remember(n, &text, err) < 0) {
		net_link_close(s);
		return -1;
	}
	net_link_uplink(s, AF_INET, up, &why);
	net_link_uplink(s, AF_INET6, up6, &why);
	net_link_close(s);
	if (*up == '\0')
		log_say(LOG_WARN,
		    "no default route: sandboxes with net=nat reach nothing "
		    "until hutchd is restarted with one",
		    NULL);
	snprintf(name, sizeof name, "ipv4/conf/%s/forwarding", up);
	if (*up != '\0' && change(n, &text, name, "1", err) < 0)
		return -1;
	snprintf(n->prefix6, sizeof n->prefix6, "fd68:7574:6368:%x::/64",
	    n->conf.instance);
	if (*up6 == '\0' || forward6(n, &text, up6, &why) < 0) {
		log_err(LOG_NOTE, &why, "no IPv6 for sandboxes", NULL);
		n->prefix6[0] = '\0';
	}
	return 0;
}

/* ---- the resolver ---- */

static bool
resolver_in(const char *path, char out[INET_ADDRSTRLEN])
{
	auto_str struct str text = { 0 };
	struct err err;
	char *save, *line;

	if (file_read_at(AT_FDCWD, path, &text, 65536, &err) < 0 ||
	    text.len == 0)
		return false;
	for (line = strtok_r(text.at, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char addr[64];
		struct in_addr in;

		if (sscanf(line, " nameserver %63s", addr) != 1 ||
		    inet_pton(AF_INET, addr, &in) != 1 ||
		    ntohl(in.s_addr) >> 24 == 127 || in.s_addr == 0)
			continue;
		inet_ntop(AF_INET, &in, out, INET_ADDRSTRLEN);
		return true;
	}
	return false;
}

static void
find_resolver(struct net *n)
{
	if (n->conf.resolver != NULL)
		snprintf(n->resolver, sizeof n->resolver, "%s",
		    n->conf.resolver);
	else if (!resolver_in("/etc/resolv.conf", n->resolver) &&
	    !resolver_in("/run/systemd/resolve/resolv.conf", n->resolver))
		log_say(LOG_WARN,
		    "no usable resolver: names do not resolve in sandboxes; "
		    "name a non-loopback IPv4 server in /etc/resolv.conf",
		    NULL);
}

/* ---- the pool ---- */

static void
ask(struct net *n, unsigned until)
{
	struct link_msg m = { .type = NET_WANT,
		.len = sizeof(struct net_want) };
	struct net_want *w = (void *)m.body;
	struct err err;

	while (n->nready + n->asked < until) {
		memset(w, 0, sizeof *w);
		n->next = n->next % 65533 + 1;
		w->ipv4 = n->conf.prefix + n->next;
		snprintf(w->link, sizeof w->link, "h%uv%u", n->conf.instance,
		    n->next);
		if (*n->prefix6 != '\0') {
			char text[64];

			snprintf(text, sizeof text, "fd68:7574:6368:%x::%x",
			    n->conf.instance, n->next);
			inet_pton(AF_INET6, text, &w->ipv6);
		}
		if (link_send(n->worker, &m, &err) < 0)
			return; /* full: asked again at the next turn */
		n->asked++;
	}
}

static void
restart_worker(struct net *n)
{
	struct err err;

	close(n->worker);
	kill(n->pid, SIGKILL);
	waitpid(n->pid, NULL, 0);
	n->asked = 0;
	n->worker = net_worker_start(n->conf.owner, &n->pid, &err);
	if (n->worker < 0)
		log_err(LOG_ERROR, &err, "no network worker", NULL);
}

static void
collect(struct net *n)
{
	struct link_msg m;
	struct err err;
	int r;

	while ((r = link_recv(n->worker, &m, &err)) == 1) {
		const struct net_want *w = (const void *)m.body;
		struct net_lease *l = &n->ready[n->nready];

		if (n->asked > 0)
			n->asked--;
		if (m.type != NET_READY || m.nfd != 1 || n->nready == NET_MAX) {
			link_msg_drop(&m);
			continue;
		}
		l->netns = m.fd[0];
		l->ipv4 = htonl(w->ipv4);
		memcpy(l->link, w->link, sizeof l->link);
		n->nready++;
	}
	if (r == 0)
		restart_worker(n);
}

/*
 * One at a time: to make one takes as long as a sandbox's whole start, and
 * whoever asks for a sandbox meanwhile would wait for a processor.
 */
bool
net_fill(struct net *n)
{
	unsigned all;

	collect(n);
	all = n->nready + n->asked;
	if (n->asked == 0)
		ask(n, all < n->want ? all + 1 : n->want);
	return n->nready < n->want;
}

/* What was needed once at a time will be again. */
static void
grow(struct net *n)
{
	unsigned most = n->conf.ready > NET_BURST ? n->conf.ready : NET_BURST;

	if (n->nready * 4 < n->want && n->want < most)
		n->want = n->want * 2 < most ? n->want * 2 : most;
}

int
net_take(struct net *n, struct net_lease *lease, int wait_ms, struct err *err)
{
	int64_t deadline = clock_ms() + wait_ms;

	collect(n);
	ask(n, NET_LOW < n->want ? NET_LOW : n->want);
	while (n->nready == 0) {
		struct pollfd p = { .fd = n->worker, .events = POLLIN };

		if (clock_left(deadline) == 0)
			return err_set(err, ERR_TIMEOUT,
			    "no network namespace was ready within %d ms",
			    wait_ms);
		poll(&p, 1, (int)clock_left(deadline));
		collect(n);
		ask(n, NET_LOW < n->want ? NET_LOW : n->want);
	}
	*lease = n->ready[0];
	memmove(n->ready, n->ready + 1, --n->nready * sizeof *n->ready);
	grow(n);
	return 0;
}

bool
net_has_ipv6(const struct net *n)
{
	return *n->prefix6 != '\0';
}

const char *
net_resolver(const struct net *n)
{
	return n->resolver;
}

/* ---- start and stop ---- */

static void
bound(const struct net *n)
{
	auto_str struct str text = { 0 };
	struct err err;

	net_rules_bound(n->conf.instance, FLOWS_MOST, &text);
	if (net_rules_load(&text, &err) < 0)
		log_err(LOG_WARN, &err,
		    "a sandbox may take all of the host's connections (kernel "
		    "without nft_connlimit)",
		    NULL);
}

static int
load(const struct net *n, struct err *err)
{
	auto_str struct str text = { 0 };
	const struct net_rules r = { .instance = n->conf.instance,
		.prefix = n->conf.prefix,
		.resolver = n->resolver,
		.prefix6 = n->prefix6 };

	net_rules_text(&r, &text);
	if (net_rules_load(&text, err) < 0)
		return -1;
	bound(n);
	return 0;
}

struct net *
net_start(const struct net_conf *conf, struct err *err)
{
	struct net *n = xcalloc(1, sizeof *n);

	n->conf = *conf;
	n->worker = -1;
	if (n->conf.ready == 0 || n->conf.ready > NET_MAX)
		n->conf.ready = 16;
	n->want = n->conf.ready;
	undo(conf->state);
	find_resolver(n);
	if (forwarding(n, err) < 0 || load(n, err) < 0 ||
	    (n->worker = net_worker_start(conf->owner, &n->pid, err)) < 0) {
		net_stop(n);
		return NULL;
	}
	ask(n, n->want);
	return n;
}

void
net_sweep(unsigned instance, int state)
{
	auto_str struct str text = { 0 };
	struct err err;

	if (faccessat(state, UNDO, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	net_rules_gone(instance, &text);
	if (net_rules_load(&text, &err) < 0)
		log_err(LOG_WARN, &err, "table not removed", NULL);
	undo(state);
}

void
net_stop(struct net *n)
{
	auto_str struct str text = { 0 };
	struct err err;

	if (n == NULL)
		return;
	if (n->worker >= 0) {
		close(n->worker);
		kill(n->pid, SIGKILL);
		waitpid(n->pid, NULL, 0);
	}
	for (unsigned i = 0; i < n->nready; i++)
		close(n->ready[i].netns);
	net_rules_gone(n->conf.instance, &text);
	if (net_rules_load(&text, &err) < 0)
		log_err(LOG_WARN, &err, "table not removed", NULL);
	undo(n->conf.state);
	free(n);
}
