/*
 * serve: the functions behind the rows of the broker's table.
 *
 * Each gets a message whose sender, size and number of descriptors are right,
 * and nothing more; it may take the message's descriptors, and fills the body
 * and descriptors of a reply that is zeroed.
 */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

struct broker;
struct err;
struct link_msg;
struct peer;

enum { SERVED = 0, SERVE_LATER = 1 }; /* later: broker_reply */

typedef int serve_fn(struct broker *, struct peer *, struct link_msg *,
    struct link_msg *reply, struct err *);

serve_fn serve_listeners, serve_live, serve_build, serve_attach, serve_join,
    serve_stop, serve_freeze, serve_usage;
serve_fn serve_import, serve_export, serve_images, serve_image_rm;
serve_fn serve_store, serve_commit, serve_record;
serve_fn serve_lend, serve_model;

#endif
