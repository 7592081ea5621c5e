#!/bin/sh
# runtime-sandbox-server: which hutchd it becomes.
set -u
srcdir=${srcdir:-$(dirname "$0")/../..}
script=$srcdir/src/cli/runtime-sandbox-server.in
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0 failed=0

cat >"$dir/hutchd" <<'END'
#!/bin/sh
[ $# -eq 0 ] || printf '<%s>' "$@"
END
chmod 755 "$dir/hutchd"
mkdir "$dir/plain" "$dir/env" "$dir/example"
: >"$dir/env/.env"
: >"$dir/env/.env.example"
: >"$dir/example/.env.example"
: >"$dir/my conf"

check() { # NAME FOLDER STATUS OUTPUT ARGS...
	name=$1 folder=$2 status=$3 want=$4
	shift 4
	n=$((n + 1))
	got=$(cd "$dir/$folder" &&
		HUTCH_HUTCHD=$dir/hutchd sh "$script" "$@" 2>&1)
	is=$?
	[ -n "$want" ] || want=nothing got=${got:-nothing}
	case $got in
	*"$want"*) [ "$is" -eq "$status" ] && echo "ok $n - $name" && return ;;
	esac
	echo "not ok $n - $name"
	echo "# status $is, output: $got"
	failed=1
}

case $script in
/*) ;;
*) script=$(cd "$(dirname "$script")" && pwd)/${script##*/} ;;
esac
echo 1..11
check 'without anything it is hutchd' plain 0 ''
check './.env is read, and not .env.example' env 0 '<--env-default><.env>'
check './.env.example, if there is no .env' example 0 \
	'<--env-default><.env.example>'
check '--config beats the environment' env 0 "<--env-file><$dir/my conf>" \
	--config "$dir/my conf"
check '--config=FILE, and a level' plain 0 \
	"<--env-file><$dir/my conf><--log-level><warning>" \
	"--config=$dir/my conf" --log-level WARNING
check 'CRITICAL is an error here' plain 0 '<--log-level><error>' \
	--log-level CRITICAL
check 'a root of its own' plain 0 '<--root></r><--libexec></l>' \
	--root /r --libexec=/l
check 'a file that is not there' plain 1 'FileNotFoundError' --config nope
check 'an extension is refused with a reason' plain 2 'no Python runs' \
	--extension x.py
check 'an unknown level' plain 2 'not LOUD' --log-level LOUD
check 'an unknown option' plain 2 'unrecognized argument: --workers' --workers
exit $failed
