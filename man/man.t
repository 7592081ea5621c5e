#!/bin/sh
# Every page passes mandoc's lint, and hutch-privsep(7) names every request.
set -u
here=$(dirname "$0")
top=$here/..

if ! command -v mandoc >/dev/null; then
	echo '1..0 # SKIP no mandoc'
	exit 0
fi

# Pages that aren't installed yet can't be found, and the system's own index may
# be old: neither is a fault of the page.
lint() { # PAGE LEVEL
	mandoc -T lint -W "$2" "$1" 2>&1 |
		grep -vE 'referenced manual not found|mandoc\.db'
}

n=0 failed=0
say() { # WHAT COMPLAINTS
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
		failed=1
	fi
}

for page in "$here"/*.[1-8]; do
	say "$(basename "$page") is clean" "$(lint "$page" style)"
done
# Made from a table, in lines as long as they come.
say 'hutch.conf.5 is clean' "$(lint man/hutch.conf.5 warning)"

missing=
words=$(sed -n '/^enum broker_type/,/^};/s/^\tBROKER_\([A-Z_]*\).*,.*/\1/p' \
	"$top/src/wire/broker.h")
for word in $words; do
	grep -qw "$word" "$here/hutch-privsep.7" || missing="$missing $word"
done
say 'hutch-privsep.7 names every message' "${missing:+it lacks:$missing}"
if [ -x hutchd ]; then
	missing=
	for word in $(./hutchd --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
		grep -q -- "-$word\b" "$here/hutchd.8" || missing="$missing $word"
	done
	say 'hutchd.8 names every option' "${missing:+it lacks:$missing}"
fi
missing=
for word in $(./hutch complete; ./hutch complete image); do
	grep -qE "Cm (image )?$word\b" "$here/hutch.1" || missing="$missing $word"
done
say 'hutch.1 names every command' "${missing:+it lacks:$missing}"
# No daemon at that socket: options are all that can follow.
missing=
for word in $(for c in $(./hutch complete); do
	./hutch --socket /nonexistent complete "$c"
done | grep '^--' | sort -u); do
	grep -q " $(echo "$word" | cut -c 2-)\b" "$here/hutch.1" ||
		missing="$missing $word"
done
say 'hutch.1 names every option' "${missing:+it lacks:$missing}"
echo "1..$n"
exit $failed
