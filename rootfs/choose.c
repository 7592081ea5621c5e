#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/choose.h"
#include "rootfs/policy.h"
#include "rootfs/ref.h"
#include "rootfs/spool.h"

#define NESTED_MAX 4

OWN_DEFINE(struct index, index_free)

/* One archive being read: its files lie below prefix ("" or "dir/"). */
struct reader {
	const struct spool *spool;
	const char *name;
	struct ref ref;
	char prefix[256];
};

static const struct spool_file *
file(const struct reader *r, const char *name)
{
	auto_free char *path = xasprintf("%s%s", r->prefix, name);

	return spool_find(r->spool, path);
}

/* Somebody packed the directory instead of what is in it. */
static void
find_prefix(struct reader *r)
{
	static const char *const marks[] = { "oci-layout", "manifest.json" };

	for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
		if (spool_find(r->spool, marks[m]) != NULL)
			return;
	for (size_t i = 0; i < r->spool->n; i++) {
		const char *name = r->spool->at[i].name;
		const char *base = policy_base(name);
		size_t n = (size_t)(base - name);

		if (n == 0 || n >= sizeof r->prefix ||
		    memchr(name, '/', n - 1) != NULL ||
		    (strcmp(base, marks[0]) != 0 &&
			strcmp(base, marks[1]) != 0))
			continue;
		memcpy(r->prefix, name, n);
		r->prefix[n] = '\0';
		return;
	}
}

static const struct spool_file *
blob(const struct reader *r, const struct desc *d, struct err *err)
{
	char hex[2 * MANIFEST_DIGEST + 1], name[96] = "blobs/sha256/";
	const struct spool_file *f;

	hex_put(hex, d->digest, MANIFEST_DIGEST);
	strcat(name, hex);
	f = file(r, name);
	if (f == NULL)
		err_set(err, ERR_MISSING,
		    "blob sha256:%s is not in the archive", hex);
	else if (f->size != d->size)
		err_set(err, ERR_INVALID,
		    "blob sha256:%.12s has %llu bytes, not %llu", hex,
		    (unsigned long long)f->size, (unsigned long long)d->size);
	else if (memcmp(f->digest, d->digest, MANIFEST_DIGEST) != 0)
		err_set(err, ERR_INVALID,
		    "blob sha256:%.12s has another digest", hex);
	else
		return f;
	return NULL;
}

static int
document(const struct reader *r, const struct desc *d, struct str *text,
    struct err *err)
{
	const struct spool_file *f = blob(r, d, err);

	if (f == NULL)
		return -1;
	return spool_text(r->spool, f, MANIFEST_TEXT_MAX, text, err);
}

static enum ref_match
called(const struct reader *r, const struct desc *d)
{
	enum ref_match best = REF_OTHER;

	for (int i = 0; i < 2; i++) {
		enum ref_match m = ref_match(&r->ref,
		    *d->called[i] != '\0' ? d->called[i] : NULL);

		best = m > best ? m : best;
	}
	return best;
}

/*
 * How well an entry must match: as the best does.  If none does, all of them
 * are taken when they go by one name at most, since then it is clear.
 */
static int
wanted(const struct reader *r, const struct index *x, enum ref_match *want,
    struct err *err)
{
	auto_str struct str names = { 0 };
	const char *one = NULL;
	bool several = false;

	*want = REF_OTHER;
	for (size_t i = 0; i < x->n; i++) {
		const struct desc *d = &x->at[i];
		enum ref_match m = called(r, d);
		const char *name =
		    *d->called[0] != '\0' ? d->called[0] : d->called[1];

		*want = m > *want ? m : *want;
		several |= one != NULL && strcmp(one, name) != 0;
		if (*name != '\0' && (one == NULL || strcmp(one, name) != 0))
			str_printf(&names, "%s%.60s", names.len > 0 ? ", " : "",
			    name);
		one = name;
	}
	if (*want == REF_OTHER && several)
		return err_set(err, ERR_MISSING,
		    "no image \"%.60s\" in the archive, which has %.120s",
		    r->name, str_text(&names));
	return 0;
}

static const struct desc *
for_us(const struct reader *r, const struct index *x, enum ref_match want,
    struct err *err)
{
	auto_str struct str had = { 0 };
	const struct desc *any = NULL;

	for (size_t i = 0; i < x->n; i++) {
		const struct desc *d = &x->at[i];

		if (called(r, d) < want || d->media > MEDIA_MANIFEST)
			continue;
		if (d->has_platform && strcmp(d->os, "linux") == 0 &&
		    strcmp(d->arch, manifest_arch()) == 0)
			return d;
		if (!d->has_platform && any == NULL)
			any = d;
		if (d->has_platform && had.len < 120)
			str_printf(&had, " %s/%s", d->os, d->arch);
	}
	if (any == NULL)
		err_set(err, ERR_MISSING, "no image for linux/%s; there is:%s",
		    manifest_arch(), had.len > 0 ? had.at : " none");
	return any;
}

/* Down from this index to the manifest that is meant; text is that one's. */
static int
descend(const struct reader *r, struct str *text, struct desc *at,
    struct err *err)
{
	for (int depth = 0; depth < NESTED_MAX; depth++) {
		own(index_free) struct index *x = &(struct index){ 0 };
		enum ref_match want = REF_OTHER;
		const struct desc *d;
		enum media kind;

		if (manifest_index(str_text(text), text->len, x, err) < 0 ||
		    (depth == 0 && wanted(r, x, &want, err) < 0))
			return -1;
		d = for_us(r, x, want, err);
		if (d == NULL)
			return -1;
		*at = *d;
		str_cut(text, 0);
		if (document(r, at, text, err) < 0)
			return -1;
		if (manifest_kind(str_text(text), text->len, at->type, &kind,
			err) < 0)
			return -1;
		if (kind == MEDIA_MANIFEST)
			return 0;
	}
	return err_set(err, ERR_LIMIT, "indexes nested more than %d deep",
	    NESTED_MAX);
}

static int
from_layout(const struct reader *r, struct choice *c, struct err *err)
{
	const struct spool_file *index = file(r, "index.json");
	auto_str struct str layout = { 0 };
	auto_str struct str text = { 0 };
	auto_free struct manifest *m = xcalloc(1, sizeof *m);
	struct desc at;

	if (index == NULL)
		return err_set(err, ERR_MISSING, "index.json is missing");
	if (spool_text(r->spool, file(r, "oci-layout"), 4096, &layout, err) <
		0 ||
	    manifest_layout(str_text(&layout), layout.len, err) < 0 ||
	    spool_text(r->spool, index, MANIFEST_TEXT_MAX, &text, err) < 0)
		return -1;
	if (descend(r, &text, &at, err) < 0 ||
	    manifest_read(str_text(&text), text.len, m, err) < 0)
		return -1;
	memcpy(c->digest, at.digest, MANIFEST_DIGEST);
	c->has_digest = true;
	memcpy(c->id, m->config.digest, MANIFEST_DIGEST);
	str_cut(&text, 0);
	if (document(r, &m->config, &text, err) < 0 ||
	    manifest_config(str_text(&text), text.len, &c->config, err) < 0)
		return err_wrap(err, "config");
	for (c->n = 0; c->n < m->n; c->n++) {
		c->layer[c->n] = blob(r, &m->layer[c->n], err);
		if (c->layer[c->n] == NULL)
			return err_wrap(err, "layer %zu", c->n + 1);
	}
	return 0;
}

static const struct spool_file *
saved_file(const struct reader *r, const char *name, struct err *err)
{
	const struct spool_file *f = file(r, name);

	if (f == NULL)
		err_set(err, ERR_MISSING, "%.120s is not in the archive", name);
	return f;
}

static int
take_saved(const struct reader *r, const struct saved *saved, struct choice *c,
    struct err *err)
{
	const struct spool_file *config = saved_file(r, saved->config, err);
	auto_str struct str text = { 0 };

	if (config == NULL ||
	    spool_text(r->spool, config, MANIFEST_TEXT_MAX, &text, err) < 0 ||
	    manifest_config(str_text(&text), text.len, &c->config, err) < 0)
		return err_wrap(err, "config");
	memcpy(c->id, config->digest, MANIFEST_DIGEST);
	for (c->n = 0; c->n < saved->n; c->n++) {
		c->layer[c->n] = saved_file(r, saved->layer[c->n], err);
		if (c->layer[c->n] == NULL)
			return err_wrap(err, "layer %zu", c->n + 1);
	}
	return 0;
}

static int
from_saved(const struct reader *r, struct choice *c, struct err *err)
{
	const struct spool_file *list = file(r, "manifest.json");
	auto_str struct str text = { 0 };
	struct saved saved = { 0 };
	int res;

	if (spool_text(r->spool, list, MANIFEST_TEXT_MAX, &text, err) < 0)
		return -1;
	if (manifest_saved(str_text(&text), text.len, r->name, &saved, err) < 0)
		return err_wrap(err, "manifest.json");
	res = take_saved(r, &saved, c, err);
	saved_free(&saved);
	return res;
}

int
choose(const struct spool *spool, const char *name, struct choice *c,
    struct err *err)
{
	struct reader r = { .spool = spool, .name = name };

	*c = (struct choice){ 0 };
	if (ref_parse(name, &r.ref, err) < 0)
		return -1;
	find_prefix(&r);
	if (file(&r, "oci-layout") != NULL) {
		if (from_layout(&r, c, err) < 0)
			return -1;
	} else if (file(&r, "manifest.json") == NULL)
		return err_set(err, ERR_INVALID,
		    "neither an OCI layout nor docker save's archive");
	else if (from_saved(&r, c, err) < 0)
		return -1;
	if (c->n != c->config.n)
		return err_set(err, ERR_INVALID,
		    "%zu layers, but %zu diff_ids in the config", c->n,
		    c->config.n);
	return 0;
}

void
choice_free(struct choice *c)
{
	image_config_free(&c->config);
}
