/*
 * probe: one question to this host, and what to do about the answer.
 *
 * A probe looks and changes nothing; what it tries for real it takes back.
 * Needs no daemon.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

struct str;

enum verdict {
	VERDICT_GOOD,
	VERDICT_NOTE,   /* works, with less */
	VERDICT_BAD,    /* sandboxes won't start, or not as they should */
	VERDICT_UNKNOWN /* can't be told: root is needed, mostly */
};

struct probe {
	const char *name;
	/* Adds what was found to detail: a few words. */
	enum verdict (*check)(struct str *detail);
	const char *remedy; /* when the verdict is NOTE or BAD */
};

/* The daemon's root directory, if not the one of hutch.conf. */
extern const char *probe_root;

/* Each until .name is NULL. */
extern const struct probe probes_kernel[], probes_host[], probes_net[],
    probes_box[];

#endif
