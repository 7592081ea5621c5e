/*
 * models: what the whole shows of [model NAME] and [agent NAME].
 */
#ifndef CONF_MODELS_H
#define CONF_MODELS_H

#include <stdio.h>

struct config;
struct err;

/* Part of conf_check: reads key files, fills in what was left open. */
int check_models(struct config *, struct err *);
/* What hutch-model is told, keys and all: wire/model.h. */
void conf_print_models(const struct config *, FILE *);

#endif
