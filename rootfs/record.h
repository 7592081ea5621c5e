/*
 * record: what is remembered of an image beside its layers, as JSON.
 *
 *	{ "version": 1, "name": "repo:tag", "id": "sha256:CONFIG",
 *	  "digest": "sha256:MANIFEST" or null, "created": TEXT or null,
 *	  "imported": UNIX TIME, "os": "linux", "architecture": "amd64",
 *	  "size": BYTES of all layers,
 *	  "layers": [ { "id": HEX64, "diff_id": "sha256:...",
 *	                "size": BYTES, "packed": BYTES } ],  lowest first
 *	  "config": { "env": [], "entrypoint": [], "cmd": [], "workdir": "",
 *	              "user": "", "labels": {}, "stop_signal": "" } }
 *
 * Everything in "config" is a stranger's word about the inside of a sandbox,
 * never about the host.  The config's other parts are left out.
 */
#ifndef ROOTFS_RECORD_H
#define ROOTFS_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include "rootfs/manifest.h"

struct err;

struct record_layer {
	uint8_t id[MANIFEST_DIGEST], diff[MANIFEST_DIGEST];
	uint64_t size, packed;
};

struct record {
	const char *name;
	uint8_t id[MANIFEST_DIGEST], digest[MANIFEST_DIGEST];
	bool has_digest;
	const struct image_config *config;
	struct record_layer layer[MANIFEST_LAYERS];
	size_t n;
};

/* Its text, yours to free; NULL when the config makes no sense. */
char *record_text(const struct record *, struct err *);

#endif
