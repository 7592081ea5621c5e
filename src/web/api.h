/*
 * api: our own HTTP interface, below /api/v1/, as `hutch` uses it.
 *
 * JSON in and out; an error is {"detail":TEXT} with the status that reply.c's
 * table gives its code.  IDENTITY is a public id or its last 25 characters.
 *
 * GET    sandboxes[?all=1]          {"sandboxes":[SANDBOX...]}; all: ended too
 * POST   sandboxes                  201 SANDBOX, ready for calls.  Body, all
 *        optional: {"type":T} or {"image":REF} or {"dir":PATH} (admin),
 *        "env":{}, "net":"none"|"nat", "mount_dir":PATH, "meta":{}
 * GET    sandboxes/ID               SANDBOX
 * DELETE sandboxes/ID               {"released":true}; gone at once
 * POST   sandboxes/ID/pause         SANDBOX        resume, stop, start likewise
 * GET    sandboxes/ID/stats         {"cpu_us","memory","memory_peak",
 *        "memory_limit","pids","pids_limit","oom_kills"}: numbers
 * GET    sandboxes/ID/logs          text/plain: the newest 64 KiB of what tools
 *        and commands printed, each call under a line of its own
 * GET    sandboxes/ID/exec          Upgrade: hutch-exec; see wire/tunnel.h
 * GET    sandboxes/ID/files?path=P  the bytes of a file; with tar=1 a tar
 *        stream of the file or directory P, its names below P's last part
 * PUT    sandboxes/ID/files?path=P  body becomes the file P: its entry; with
 *        tar=1 the tar is unpacked below the directory P: {"unpacked":true}
 * GET    images                     {"images":[IMAGE...]}
 * GET    images/REF                 IMAGE
 * DELETE images/REF                 {"removed":true}
 * POST   images/import?name=REF     body: the tar of an OCI layout or of docker
 *        save.  200 and a line of JSON for each thing the fetcher says:
 *        {"progress":T}, and last {"done":T} or {"error":T,"code":C}
 * GET    images/REF/export          application/x-tar: the merged tree; a
 *        failure on the way cuts the connection
 * GET    doctor                     {"checks":[{"name","ok","detail",
 *        "remedy"}...]}: as the front sees this daemon (admin)
 * GET    backup                     application/vnd.sqlite3: a consistent copy
 *        of the state (admin)
 *
 * SANDBOX {"id","session","key","type","image","state","paused","reason",
 *   "session_ctx_id","tenant","created_at","last_active_at"}
 * IMAGE   the record that the fetcher wrote: {"name","id","layers",...}
 *
 * REF in a path is percent-encoded ("repo%2Fname:tag").
 */
#ifndef WEB_API_H
#define WEB_API_H

struct err;
struct http_req;

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

#endif
