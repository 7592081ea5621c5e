#include "engine/ask_media.h"

#include <stdio.h>
#include <string.h>

/* image/png -> png; for audio's format */
static const char *
subtype(const char *mime)
{
	const char *slash = mime != NULL ? strchr(mime, '/') : NULL;

	return slash != NULL ? slash + 1 : "";
}

static json_t *
media_url(const struct media *m)
{
	if (m->url != NULL)
		return json_string(m->url);
	return json_sprintf("data:%s;base64,%s",
	    m->mime != NULL ? m->mime : "application/octet-stream", m->base64);
}

static json_t *
file_part(const struct media *m)
{
	json_t *p = json_pack("{s:s}", "type", "file");

	if (m->id != NULL)
		json_object_set_new(p, "file_id", json_string(m->id));
	if (m->url != NULL)
		json_object_set_new(p, "file_url", json_string(m->url));
	if (m->base64 != NULL)
		json_object_set_new(p, "file_data", media_url(m));
	if (m->name != NULL)
		json_object_set_new(p, "filename", json_string(m->name));
	return p;
}

json_t *
media_part(const char *type, const struct media *m)
{
	json_t *p;

	if (m->url == NULL && m->base64 == NULL)
		return file_part(m); /* a handle */
	if (strcmp(type, "image") == 0)
		return json_pack("{s:s,s:o}", "type", "image", "image_url",
		    media_url(m));
	if (strcmp(type, "video") == 0)
		return json_pack("{s:s,s:o}", "type", "video", "video_url",
		    media_url(m));
	if (strcmp(type, "audio") != 0)
		return file_part(m);
	p = json_pack("{s:s,s:s}", "type", "audio", "data",
	    m->url != NULL ? m->url : m->base64);
	if (m->mime != NULL)
		json_object_set_new(p, "format", json_string(subtype(m->mime)));
	return p;
}

json_t *
media_part_by_mime(const struct media *m)
{
	char type[8];
	const char *mime = m->mime != NULL ? m->mime : "";

	snprintf(type, sizeof type, "%.*s", (int)strcspn(mime, "/"), mime);
	return media_part(type, m);
}
