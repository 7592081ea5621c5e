#!/bin/sh
# openai.t, with the agent as a worker in a sandbox of the true daemon.
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP needs root: the sandbox is real'
	exit 0
fi
OPENAI_REAL=1 exec "$(dirname "$0")/openai.t" "$@"
