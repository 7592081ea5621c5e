/*
 * metrics: GET /metrics, as Prometheus reads it.
 */
#ifndef WEB_METRICS_H
#define WEB_METRICS_H

struct err;
struct http_req;

int metrics_get(struct http_req *, struct err *);

#endif
