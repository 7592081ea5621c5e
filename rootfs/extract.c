#include <sys/stat.h>
#include "base/err.h"
#include "base/own.h"
#include "rootfs/extract.h"
#include "rootfs/layer.h"
#include "rootfs/stream.h"

OWN_DEFINE(struct stream, stream_free)

int
extract_tar(int fd, int dir, bool owners, struct err *err)
{
	/* What was exported had its bounds; the disk has its own. */
	const struct layer_to to = { .view = { .top = dir },
		.most = { UINT64_MAX, UINT64_MAX },
		.plain = true,
		.owners = owners };
	struct layer_stats stats;
	uint8_t digest[STREAM_DIGEST];
	own(stream_free) struct stream *in = stream_open(fd, UINT64_MAX, err);
	mode_t mask = umask(0);
	int r = -1;

	if (in != NULL && layer_unpack(in, &to, &stats, err) == 0)
		r = stream_finish(in, digest, err);
	umask(mask);
	return r;
}
