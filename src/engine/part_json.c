#include "engine/part_json.h"

#include <string.h>
#include "base/str.h"
#include "engine/event.h"

json_t *
part_value(const struct part *p, unsigned field)
{
	if (p->field[field].len == 0)
		return NULL;
	return json_loadb(p->field[field].at, p->field[field].len,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

char *
part_mime(const struct part *p)
{
	json_t *format = p->type == PART_AUDIO ? part_value(p, 1) : NULL;
	char *mime = json_is_string(format)
	    ? xasprintf("audio/%s", json_string_value(format))
	    : NULL;

	json_decref(format);
	return mime;
}

struct place
place_of(const char *text, const char *mime)
{
	static const char mark[] = ";base64,";
	const char *data =
	    strncmp(text, "data:", 5) == 0 ? strstr(text, mark) : NULL;

	if (data != NULL)
		return (struct place){ .base64 = data + strlen(mark),
			.mime = text + 5,
			.nmime = (size_t)(data - text - 5) };
	if (mime != NULL && strstr(text, "://") == NULL)
		return (struct place){ .base64 = text,
			.mime = mime,
			.nmime = strlen(mime) };
	return (struct place){ .url = text };
}
