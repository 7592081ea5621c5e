#!/bin/sh
# The SDK from the registry, unmodified, against our daemon; `make check-sdk`.
# In a network namespace of its own, so the host's is left alone.
#	tests/sdk/sdk.t [test_base.Sync.test_life ...]
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
HUTCH_BUILD=${HUTCH_BUILD:-$PWD}
export HUTCH_BUILD HUTCH_CACHE="${HUTCH_CACHE:-/var/cache/hutch}"
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP needs root: the sandboxes are real'
	exit 0
fi
python=$("$top/scripts/sdk-python")
"$top/scripts/box-build" base >&2
HUTCH_BOX=$HUTCH_CACHE/base.tar
export HUTCH_BOX
# Expanded by the inner shell.
# shellcheck disable=SC2016
exec unshare --net -- sh -c 'ip link set lo up && exec "$@"' sh \
	"$python" "$top/tests/sdk/run.py" "$@"
