/*
 * push: notifications to addresses that clients gave, by hutch-model.
 *
 * Each is tried a few times and then given up, which is logged; what the other
 * side answers is not looked at but for its status.  Where they may go is
 * hutch-model's to say.
 */
#ifndef ENGINE_PUSH_H
#define ENGINE_PUSH_H

#include <jansson.h>

struct loop;
struct model_client;
struct pushes;

struct pushes *pushes_new(struct loop *, struct model_client *);
void pushes_free(struct pushes *); /* what is on its way is forgotten */
/* setting: A2A's TaskPushNotificationConfig of 0.3.  body: JSON; copied. */
void push_send(struct pushes *, const json_t *setting, const char *body);

#endif
