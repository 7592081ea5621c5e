/*
 * routes: everything that the front answers, as one table.
 */
#ifndef WEB_ROUTES_H
#define WEB_ROUTES_H

#include <stddef.h>
#include "web/route.h"

extern const struct route routes[];
extern const size_t nroutes;

#endif
