#include <stdio.h>
#include <string.h>
#include "isolator/cgroup_tree.h"

static const char *const v1_names[CG_V1] = { "memory", "pids", "cpu" };

/* Is word one of the comma-separated words of list (up to a blank)? */
static bool
has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(list, ", \n:");

		if (n == len && strncmp(list, word, n) == 0)
			return true;
		if (list[n] != ',')
			return false;
		list += n + 1;
	}
}

/* The path after "N:controllers:" of a line of /proc/self/cgroup. */
static void
own_path(const char *self, const char *controller, char *out, size_t room)
{
	out[0] = '\0';
	for (const char *at = self; at != NULL && *at != '\0';) {
		const char *names = strchr(at, ':');
		const char *path = names ? strchr(names + 1, ':') : NULL;
		bool hit;

		if (path == NULL)
			return;
		hit = controller[0] == '\0' ? path == names + 1
					    : has_word(names + 1, controller);
		if (hit) {
			snprintf(out, room, "%.*s",
			    (int)strcspn(path + 1, "\n"), path + 1);
			return;
		}
		at = strchr(path, '\n');
		at = at ? at + 1 : NULL;
	}
}

/* Where path, of a hierarchy whose directory root is mounted at at, is. */
static void
join(const char *at, const char *root, const char *path, char *out, size_t room)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, n) != 0 || strstr(path, "/..") != NULL)
		path = "";
	else
		path += n;
	snprintf(out, room, "%s%s", at, strcmp(path, "/") == 0 ? "" : path);
}

static void
one_mount(const char *root, const char *at, const char *type,
    const char *options, const char *self, struct cgroup_layout *l)
{
	char own[PATH_MAX];

	if (strcmp(type, "cgroup2") == 0 && l->v2[0] == '\0') {
		own_path(self, "", own, sizeof own);
		snprintf(l->v2_root, sizeof l->v2_root, "%s", at);
		join(at, root, own, l->v2, sizeof l->v2);
	}
	if (strcmp(type, "cgroup") != 0)
		return;
	for (int i = 0; i < CG_V1; i++)
		if (l->v1[i][0] == '\0' && has_word(options, v1_names[i])) {
			own_path(self, v1_names[i], own, sizeof own);
			snprintf(l->v1_root[i], sizeof l->v1_root[i], "%s", at);
			join(at, root, own, l->v1[i], sizeof l->v1[i]);
		}
}

void
cgroup_layout(const char *mountinfo, const char *self, struct cgroup_layout *l)
{
	char root[1024], at[256], type[32], options[256];

	memset(l, 0, sizeof *l);
	for (const char *line = mountinfo; line != NULL && *line != '\0';) {
		const char *dash = strstr(line, " - ");
		const char *end = strchr(line, '\n');

		if (dash != NULL && (end == NULL || dash < end) &&
		    sscanf(line, "%*s %*s %*s %1023s %255s", root, at) == 2 &&
		    sscanf(dash, " - %31s %*s %255s", type, options) == 2)
			one_mount(root, at, type, options, self, l);
		line = end ? end + 1 : NULL;
	}
}
