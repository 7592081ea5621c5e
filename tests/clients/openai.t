#!/bin/sh
# The clients of others before the doors in OpenAI's words; `make check-clients`.
#	tests/clients/openai.t [WORD]		only tests that have it in name
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
HUTCH_BUILD=${HUTCH_BUILD:-$PWD}
TEST_ONLY=${1:-}
export HUTCH_BUILD TEST_ONLY
packages=$top/tests/clients/packages
python=$("$top/scripts/python-with" openai "$packages/openai.txt")
older=$("$top/scripts/python-with" openai2 "$packages/openai2.txt")
node=$("$top/scripts/node-with" openai "$packages/openai.json")
# Two words, on purpose.
# shellcheck disable=SC2086
exec "$python" "$top/tests/clients/openai_run.py" "$older" $node
