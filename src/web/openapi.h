/*
 * openapi: descriptions of what is served, made from the table of routes.
 */
#ifndef WEB_OPENAPI_H
#define WEB_OPENAPI_H

struct app;
struct str;

void openapi_manager(struct str *out, const struct app *); /* this server */
/* behind /proxy/IDENTITY */
void openapi_box(struct str *out, const struct app *);
/* a list of it, for people */
void openapi_page(struct str *out, const struct app *);

#endif
