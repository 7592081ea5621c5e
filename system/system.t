#!/bin/sh
# The files for systemd do what systemd says they do.  Run in the build
# directory.
set -u
here=$(dirname "$0")
if ! command -v systemd-analyze >/dev/null; then
	echo '1..0 # SKIP no systemd-analyze'
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

say() { # NUMBER WHAT COMPLAINTS
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		printf '%s\n' "$3" | sed 's/^/# /'
		failed=1
	fi
}

echo 1..4
# Not installed yet: some program that is there stands for hutchd.
sed 's|^ExecStart=.*|ExecStart=/bin/true|' system/hutch.service \
	>"$tmp/hutch.service"
# Other units of this host have faults of their own.
say 1 'the unit is right' "$(systemd-analyze verify --man=no \
	"$tmp/hutch.service" 2>&1 | grep -F hutch)"

cp "$here/hutch.sysusers" "$tmp/hutch.conf"
mkdir "$tmp/root" "$tmp/root/etc"
systemd-sysusers --root="$tmp/root" "$tmp/hutch.conf" >"$tmp/out" 2>&1
grep -q '^hutch:' "$tmp/root/etc/group" 2>/dev/null && : >"$tmp/out"
say 2 'the group is made' "$(cat "$tmp/out")"

cp "$here/hutch.tmpfiles" "$tmp/hutch.conf"
systemd-tmpfiles --root="$tmp/root" --create "$tmp/hutch.conf" >"$tmp/out" 2>&1
[ "$(stat -c %a "$tmp/root/run/hutch" "$tmp/root/var/lib/hutch" 2>&1)" = '755
711' ] && : >"$tmp/out"
say 3 'the directories are made' "$(cat "$tmp/out")"
say 4 'no name of a directory was left in' "$(grep -Hn '@[a-z]*@' \
	system/hutch.service src/cli/runtime-sandbox-server 2>&1)"
exit $failed
