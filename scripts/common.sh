# shellcheck shell=bash
# What bootstrap, demo and check share.  Sourced by bash, not executed.
# Knows: where generated things go, how a step is announced and timed, and how
# to be root.

HUTCH_CACHE=${HUTCH_CACHE:-/var/cache/hutch}
export HUTCH_CACHE
if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold='' plain=''
fi

make_cache() {
	if [ ! -d "$HUTCH_CACHE" ] || [ ! -w "$HUTCH_CACHE" ]; then
		as_root install -d -o "$(id -u)" -m 755 "$HUTCH_CACHE"
	fi
}

say() {
	printf '%s\n' "$*"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

now_ms() {
	date +%s%3N
}

seconds_since() { # MS
	awk -v ms=$(($(now_ms) - $1)) 'BEGIN { printf "%.1f s", ms / 1000 }'
}

# step TEXT LOG COMMAND...: run it quietly into LOG, say how long it took, show
# the end of the log when it fails, and a sign of life every 30 seconds.
step() {
	local text=$1 log=$2 from pid beat=0
	shift 2
	from=$(now_ms)
	printf '%s==>%s %s\n' "$bold" "$plain" "$text"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	# A background job ignores the terminal's interrupt: pass it on.
	trap 'kill -TERM "$pid" 2>/dev/null; exit 130' INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		beat=$((beat + 1))
		[ $((beat % 150)) -ne 0 ] || printf '    %s: %s\n' \
			"$(seconds_since "$from")" \
			"$(tail -n 1 "$log" | cut -c 1-64)"
	done
	trap - INT TERM
	if wait "$pid"; then
		printf '    done in %s\n' "$(seconds_since "$from")"
		return 0
	fi
	printf '    FAILED after %s; the end of %s:\n' \
		"$(seconds_since "$from")" "$log"
	tail -n 40 "$log" | sed 's/^/    | /'
	return 1
}

# as_root COMMAND...: sudo may be absent, and is not needed by root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "needs root to run: $*"
	fi
}
