#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "web/imagedir.h"

#define RECORD_MOST (1u << 20)
#define IMAGES_MOST 10000

static bool
is_record(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static json_t *
read_record(int dir, const char *name)
{
	auto_str struct str text = { 0 };
	json_t *v, *when;
	struct err err;

	if (file_read_at(dir, name, &text, RECORD_MOST, &err) < 0)
		return NULL;
	v = json_loadb(str_text(&text), text.len, 0, NULL);
	if (!json_is_string(json_object_get(v, "name"))) {
		json_decref(v);
		return NULL;
	}
	when = json_object_get(v, "imported");
	if (json_is_number(when))
		json_object_set(v, "imported_at", when);
	return v;
}

static const char *
name_of(const json_t *v)
{
	return json_string_value(json_object_get(v, "name"));
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(name_of(*(json_t *const *)a),
	    name_of(*(json_t *const *)b));
}

json_t *
imagedir_list(int dir, struct err *err)
{
	json_t **found = NULL, *list;
	const struct dirent *e;
	size_t n = 0;
	DIR *d = fdopendir(dir);

	if (d == NULL) {
		err_sys(err, "directory of images");
		close(dir);
		return NULL;
	}
	found = xcalloc(IMAGES_MOST, sizeof *found);
	while (n < IMAGES_MOST && (e = readdir(d)) != NULL) {
		if (!is_record(e->d_name))
			continue;
		found[n] = read_record(dirfd(d), e->d_name);
		n += found[n] != NULL;
	}
	closedir(d);
	qsort(found, n, sizeof *found, by_name);
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, found[i]);
	free(found);
	return list;
}

json_t *
imagedir_find(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *v = json_array_get(list, i);

		if (strcmp(name_of(v), name) == 0)
			return json_incref(v);
	}
	return NULL;
}
