#include "base/clock.h"
#include "manager/inner.h"

const unsigned manager_bucket_ms[MANAGER_BUCKETS] = { 1, 2, 5, 10, 20, 50, 100,
	200, 500, 1000, 5000, 30000 };

/* Ours lie between marks; the broker's are its backend's, in its order. */
static const char *const steps[MANAGER_STEPS] = { "image", "broker", "hello",
	"workspace", "root", "cgroup", "net", "clone", "maps", "spec" };
#define OURS (MARKS - 1)

_Static_assert(MANAGER_STEPS - OURS <= BROKER_STEPS, "steps of the broker");

const char *
manager_step_name(unsigned step)
{
	return step < MANAGER_STEPS ? steps[step] : "";
}

void
mark(struct sandbox *sb, enum mark m)
{
	sb->mark_us[m] = clock_us();
}

void
count_creation(struct sandbox *sb)
{
	struct manager_counts *c = &sb->m->counts;
	uint64_t us;

	mark(sb, MARK_READY);
	us = (uint64_t)(sb->mark_us[MARK_READY] - sb->mark_us[MARK_BEGUN]);
	c->creates++;
	c->create_us += us;
	for (unsigned i = 0; i < MANAGER_BUCKETS; i++)
		c->bucket[i] += us <= manager_bucket_ms[i] * UINT64_C(1000);
	for (unsigned i = 0; i < OURS; i++)
		c->step_us[i] +=
		    (uint64_t)(sb->mark_us[i + 1] - sb->mark_us[i]);
	for (unsigned i = OURS; i < MANAGER_STEPS; i++)
		c->step_us[i] += sb->built.step_us[i - OURS];
}

void
manager_counts(const struct manager *m, struct manager_counts *out)
{
	*out = m->counts;
	pools_count(m, &out->pool_warm, &out->pool_making);
}
