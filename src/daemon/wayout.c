#include "base/err.h"
#include "conf/config.h"
#include "daemon/broker.h"
#include "daemon/wayout.h"
#include "isolator/backend.h"
#include "isolator/net.h"

#define PREFIX 0x64400000u /* 100.64.0.0, RFC 6598; a /16 an instance */
#define READY_MIN 16
#define WAIT_MS 2000

int
wayout_take(struct broker *b, struct net_lease *lease, struct err *err)
{
	struct net_conf conf = { .instance = b->state.number,
		.prefix = PREFIX + (b->state.number << 16),
		.ready = READY_MIN + b->config->blanks,
		.owner = host_first_id(b->host, b->owner_slot),
		.state = b->state.net };

	if (b->net == NULL && (b->net = net_start(&conf, err)) == NULL)
		return -1;
	return net_take(b->net, lease, WAIT_MS, err);
}

bool
wayout_fill(struct broker *b)
{
	return b->net != NULL && !b->stopping && net_fill(b->net);
}
