#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/manifest.h"
#include "rootfs/ref.h"

/* clang-format off */
static const struct {
	const char	*type;
	enum media	 media;
} medias[] = {
	{ "application/vnd.oci.image.index.v1+json",			MEDIA_INDEX },
	{ "application/vnd.docker.distribution.manifest.list.v2+json",	MEDIA_INDEX },
	{ "application/vnd.oci.image.manifest.v1+json",			MEDIA_MANIFEST },
	{ "application/vnd.docker.distribution.manifest.v2+json",	MEDIA_MANIFEST },
	{ "application/vnd.oci.image.config.v1+json",			MEDIA_CONFIG },
	{ "application/vnd.docker.container.image.v1+json",		MEDIA_CONFIG },
	{ "application/vnd.oci.image.layer.v1.tar",			MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.v1.tar+gzip",		MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.v1.tar+zstd",		MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar",		MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar.gzip",		MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar.zstd",		MEDIA_LAYER },
	/* Fine when the blob is here; nothing is ever fetched for them. */
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar",	MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd", MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",	MEDIA_LAYER },
};

/* Annotations that say how an image is called. */
static const char *const called[] = {
	"io.containerd.image.name",
	"org.opencontainers.image.ref.name",
};
/* clang-format on */

static enum media
media_of(const char *type)
{
	if (*type == '\0')
		return MEDIA_NONE;
	for (size_t i = 0; i < sizeof medias / sizeof *medias; i++)
		if (strcmp(medias[i].type, type) == 0)
			return medias[i].media;
	return MEDIA_OTHER;
}

const char *
manifest_arch(void)
{
#if defined(__x86_64__)
	return "amd64";
#elif defined(__aarch64__)
	return "arm64";
#else
#error "how do images call this architecture?"
#endif
}

int
manifest_digest(const char *text, uint8_t digest[MANIFEST_DIGEST],
    struct err *err)
{
	static const char sha256[] = "sha256:";

	if (strncmp(text, sha256, strlen(sha256)) != 0 ||
	    hex_get(digest, MANIFEST_DIGEST, text + strlen(sha256)) < 0)
		return err_set(err, ERR_INVALID,
		    "digest \"%.90s\" is not sha256 in 64 lower-case digits",
		    text);
	return 0;
}

static json_t *
object(const char *text, size_t n, struct err *err)
{
	json_error_t why;
	own(json_decref) json_t *doc = NULL;

	if (n > MANIFEST_TEXT_MAX) {
		err_set(err, ERR_LIMIT, "JSON longer than %u bytes",
		    MANIFEST_TEXT_MAX);
		return NULL;
	}
	doc = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	if (doc == NULL || !json_is_object(doc)) {
		err_set(err, ERR_INVALID, "not a JSON object: %.100s",
		    doc == NULL ? why.text : "another value");
		return NULL;
	}
	return take_ptr(&doc);
}

/* A text of an object, bounded: absent is "", too long or no text an error. */
static int
text_of(json_t *at, const char *key, char *out, size_t size, struct err *err)
{
	json_t *v = json_object_get(at, key);
	const char *s = json_string_value(v);

	out[0] = '\0';
	if (v == NULL || json_is_null(v))
		return 0;
	if (s == NULL || strlen(s) >= size ||
	    strlen(s) != json_string_length(v))
		return err_set(err, ERR_INVALID,
		    "\"%s\" is no text, or too long", key);
	strcpy(out, s);
	return 0;
}

static int
platform_of(json_t *at, struct desc *d, struct err *err)
{
	json_t *p = json_object_get(at, "platform");

	d->has_platform = p != NULL;
	if (p == NULL)
		return 0;
	if (!json_is_object(p))
		return err_set(err, ERR_INVALID, "platform is no object");
	if (text_of(p, "os", d->os, sizeof d->os, err) < 0)
		return -1;
	return text_of(p, "architecture", d->arch, sizeof d->arch, err);
}

static int
desc_of(json_t *at, struct desc *d, struct err *err)
{
	json_t *size = json_object_get(at, "size");
	json_t *notes = json_object_get(at, "annotations");
	char digest[128];

	*d = (struct desc){ 0 };
	if (!json_is_object(at) || !json_is_integer(size) ||
	    json_integer_value(size) < 0)
		return err_set(err, ERR_INVALID,
		    "a descriptor without a proper size");
	d->size = (uint64_t)json_integer_value(size);
	if (text_of(at, "mediaType", d->type, sizeof d->type, err) < 0 ||
	    text_of(at, "digest", digest, sizeof digest, err) < 0 ||
	    manifest_digest(digest, d->digest, err) < 0 ||
	    platform_of(at, d, err) < 0)
		return -1;
	d->media = media_of(d->type);
	for (size_t i = 0; i < sizeof called / sizeof *called; i++)
		if (text_of(notes, called[i], d->called[i], sizeof d->called[i],
			err) < 0)
			return -1;
	return 0;
}

int
manifest_layout(const char *text, size_t n, struct err *err)
{
	own(json_decref) json_t *doc = object(text, n, err);
	char version[16];

	if (doc == NULL ||
	    text_of(doc, "imageLayoutVersion", version, sizeof version, err) <
		0)
		return -1;
	if (strncmp(version, "1.", 2) != 0)
		return err_set(err, ERR_INVALID,
		    "image layout version \"%s\" is unknown", version);
	return 0;
}

static int
schema_two(json_t *doc, struct err *err)
{
	json_t *v = json_object_get(doc, "schemaVersion");

	if (!json_is_integer(v) || json_integer_value(v) != 2)
		return err_set(err, ERR_INVALID, "schemaVersion is not 2");
	return 0;
}

int
manifest_kind(const char *text, size_t n, const char *said, enum media *kind,
    struct err *err)
{
	own(json_decref) json_t *doc = object(text, n, err);
	bool manifests, layers;
	char type[128];

	if (doc == NULL || schema_two(doc, err) < 0 ||
	    text_of(doc, "mediaType", type, sizeof type, err) < 0)
		return -1;
	manifests = json_object_get(doc, "manifests") != NULL;
	layers = json_object_get(doc, "layers") != NULL ||
	    json_object_get(doc, "config") != NULL;
	if (manifests == layers)
		return err_set(err, ERR_INVALID,
		    manifests ? "manifest and index in one document"
			      : "neither a manifest nor an index");
	*kind = manifests ? MEDIA_INDEX : MEDIA_MANIFEST;
	if ((*type != '\0' && media_of(type) != *kind) ||
	    (*said != '\0' && media_of(said) != *kind) ||
	    (*type != '\0' && *said != '\0' && strcmp(type, said) != 0))
		return err_set(err, ERR_INVALID,
		    "an %s is called \"%.60s\" by itself, \"%.60s\" by others",
		    manifests ? "index" : "image manifest", type, said);
	return 0;
}

int
manifest_index(const char *text, size_t n, struct index *index, struct err *err)
{
	own(json_decref) json_t *doc = object(text, n, err);
	json_t *list;
	size_t count;

	if (doc == NULL || schema_two(doc, err) < 0)
		return -1;
	list = json_object_get(doc, "manifests");
	count = json_array_size(list);
	if (!json_is_array(list) || json_object_get(doc, "layers") != NULL)
		return err_set(err, ERR_INVALID, "not an index");
	if (count > MANIFEST_ENTRIES)
		return err_set(err, ERR_LIMIT, "%zu manifests, %d are allowed",
		    count, MANIFEST_ENTRIES);
	index->at = xcalloc(count, sizeof *index->at);
	index->n = count;
	for (size_t i = 0; i < count; i++)
		if (desc_of(json_array_get(list, i), &index->at[i], err) < 0) {
			index_free(index);
			return -1;
		}
	return 0;
}

int
manifest_read(const char *text, size_t n, struct manifest *m, struct err *err)
{
	own(json_decref) json_t *doc = object(text, n, err);
	json_t *list;

	if (doc == NULL ||
	    desc_of(json_object_get(doc, "config"), &m->config, err) < 0)
		return -1;
	if (m->config.media != MEDIA_CONFIG)
		return err_set(err, ERR_INVALID,
		    "config \"%.100s\": not an image of a root",
		    m->config.type);
	list = json_object_get(doc, "layers");
	m->n = json_array_size(list);
	if (!json_is_array(list) || m->n == 0)
		return err_set(err, ERR_INVALID, "no layers");
	if (m->n > MANIFEST_LAYERS)
		return err_set(err, ERR_LIMIT, "%zu layers, %d are allowed",
		    m->n, MANIFEST_LAYERS);
	for (size_t i = 0; i < m->n; i++) {
		if (desc_of(json_array_get(list, i), &m->layer[i], err) < 0)
			return err_wrap(err, "layer %zu", i + 1);
		if (m->layer[i].media != MEDIA_LAYER)
			return err_set(err, ERR_INVALID,
			    "layer %zu is \"%.100s\", which is unknown", i + 1,
			    m->layer[i].type);
	}
	return 0;
}

static int
diff_ids(json_t *doc, struct image_config *c, struct err *err)
{
	json_t *list =
	    json_object_get(json_object_get(doc, "rootfs"), "diff_ids");

	c->n = json_array_size(list);
	if (!json_is_array(list) || c->n == 0 || c->n > MANIFEST_LAYERS)
		return err_set(err, ERR_INVALID, "no diff_ids, or too many");
	for (size_t i = 0; i < c->n; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (s == NULL)
			return err_set(err, ERR_INVALID, "diff_ids: no text");
		if (manifest_digest(s, c->diff[i], err) < 0)
			return -1;
	}
	return 0;
}

int
manifest_config(const char *text, size_t n, struct image_config *c,
    struct err *err)
{
	own(json_decref) json_t *doc = object(text, n, err);

	if (doc == NULL || diff_ids(doc, c, err) < 0 ||
	    text_of(doc, "os", c->os, sizeof c->os, err) < 0 ||
	    text_of(doc, "architecture", c->arch, sizeof c->arch, err) < 0)
		return -1;
	if (strcmp(c->os, "linux") != 0 ||
	    strcmp(c->arch, manifest_arch()) != 0)
		return err_set(err, ERR_MISSING,
		    "the image is for %s/%s, this host is linux/%s", c->os,
		    c->arch, manifest_arch());
	c->doc = take_ptr(&doc);
	return 0;
}

static bool
tagged(json_t *image, const char *name)
{
	json_t *tags = json_object_get(image, "RepoTags");
	struct ref ref;
	struct err err;

	if (ref_parse(name, &ref, &err) < 0)
		return false;
	for (size_t i = 0; i < json_array_size(tags); i++)
		if (ref_match(&ref,
			json_string_value(json_array_get(tags, i))) !=
		    REF_OTHER)
			return true;
	return false;
}

static json_t *
saved_image(json_t *doc, const char *name, struct err *err)
{
	size_t n = json_array_size(doc);

	if (n == 1)
		return json_array_get(doc, 0);
	for (size_t i = 0; i < n && n <= MANIFEST_ENTRIES; i++)
		if (tagged(json_array_get(doc, i), name))
			return json_array_get(doc, i);
	err_set(err, ERR_MISSING, "%zu images, none of them is \"%.100s\"", n,
	    name);
	return NULL;
}

int
manifest_saved(const char *text, size_t n, const char *name,
    struct saved *saved, struct err *err)
{
	json_error_t why;
	own(json_decref) json_t *doc =
	    json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	json_t *image, *list;
	const char *config;

	if (doc == NULL)
		return err_set(err, ERR_INVALID, "%.100s", why.text);
	image = saved_image(doc, name, err);
	if (image == NULL)
		return -1;
	config = json_string_value(json_object_get(image, "Config"));
	list = json_object_get(image, "Layers");
	if (config == NULL || json_array_size(list) == 0)
		return err_set(err, ERR_INVALID, "no config or no layers");
	if (json_array_size(list) > MANIFEST_LAYERS)
		return err_set(err, ERR_LIMIT, "too many layers");
	*saved = (struct saved){ .config = xstrdup(config) };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		saved->layer[saved->n++] = xstrdup(s != NULL ? s : "");
	}
	return 0;
}

void
index_free(struct index *index)
{
	free(index->at);
	*index = (struct index){ 0 };
}

void
image_config_free(struct image_config *c)
{
	json_decref(c->doc);
	c->doc = NULL;
}

void
saved_free(struct saved *s)
{
	free(s->config);
	for (size_t i = 0; i < s->n; i++)
		free(s->layer[i]);
	*s = (struct saved){ 0 };
}
