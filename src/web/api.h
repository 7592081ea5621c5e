/*
 * api: our own HTTP interface, below /api/v1/, as `hutch` uses it.
 *
 * The wire is described where its client is declared, cli/api.h and
 * cli/exec.h; here are the functions of its routes.  An error is
 * {"code": name, "detail": text} with a status that goes with the code.
 */
#ifndef WEB_API_H
#define WEB_API_H

struct err;
struct http_req;

int api_info(struct http_req *, struct err *);
int api_sandbox_list(struct http_req *, struct err *);
int api_sandbox_create(struct http_req *, struct err *);
int api_sandbox_get(struct http_req *, struct err *);
int api_sandbox_delete(struct http_req *, struct err *);
int api_sandbox_act(struct http_req *, struct err *); /* pause, resume, ... */
int api_sandbox_stats(struct http_req *, struct err *);
int api_sandbox_logs(struct http_req *, struct err *);
int api_exec(struct http_req *, struct err *);
int api_file_get(struct http_req *, struct err *);
int api_file_put(struct http_req *, struct err *);
int api_image_list(struct http_req *, struct err *);
int api_image_get(struct http_req *, struct err *);
int api_image_delete(struct http_req *, struct err *);
int api_image_import(struct http_req *, struct err *);
int api_image_export(struct http_req *, struct err *);
int api_doctor(struct http_req *, struct err *);
int api_backup(struct http_req *, struct err *);
int api_agent_list(struct http_req *, struct err *);
int api_agent_get(struct http_req *, struct err *);
int api_agent_put(struct http_req *, struct err *);
int api_agent_delete(struct http_req *, struct err *);
int api_agent_reload(struct http_req *, struct err *);
int api_agent_logs(struct http_req *, struct err *);
int api_agent_runs(struct http_req *, struct err *);
int api_agent_cancel(struct http_req *, struct err *);

#endif
