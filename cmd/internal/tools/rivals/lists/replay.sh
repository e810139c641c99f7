#!/bin/sh
# Runs replay beside what people use today on the same real stream, one after another
# in one run, and prints wall and processor seconds and the ratio of each.
# Usage: replay.sh [LIST.zst]; the list is looked for in ../shared where none is given.
set -eu
cd "$(dirname "$0")/../../../../.."
list=${1:-${FIRSTSEEN_SHARED:-../shared}/logs/large/docs-linkstream.urls.zst}
[ -e "$list" ] || { echo "skipped: there is no $list"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/firstseen" ./cmd/firstseen
zstd -dcq --long=27 "$list" >"$work/urls"
cat >"$work/rival.py" <<'PY'
import sys
from w3lib.url import canonicalize_url
seen = set()
for line in sys.stdin.buffer:
    try:
        seen.add(canonicalize_url(line.decode("utf-8", "replace").strip()))
    except ValueError:
        pass
print(len(seen))
PY

# measure NAME COMMAND: the command's output is thrown away.
measure() {
	name=$1
	shift
	bash -c 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1' - "$@" 2>"$work/time" || { echo "| $name | failed | | |"; return 0; }
	awk -v name="$name" -v base="${base:-0}" '{
		printf "| %s | %.2f | %.2f | %s |\n", name, $1, $2 + $3, (base > 0 ? sprintf("%.2f", $1 / base) : "")
	}' "$work/time"
}

wc -l <"$work/urls" | awk '{ print $1 " URLs\n\n| | s | s of processors | times as long |\n|---|--:|--:|--:|" }'
measure "firstseen replay, list" "$work/firstseen" replay --hosts 0 "$work/urls"
base=$(awk '{ print $1 }' "$work/time")
measure "firstseen replay, zstd" "$work/firstseen" replay --hosts 0 "$list"
measure "LC_ALL=C sort -u" env LC_ALL=C sort -u "$work/urls"
measure "awk '!seen[\$0]++'" awk '!seen[$0]++' "$work/urls"
if python3 -c 'import w3lib' 2>/dev/null; then
	measure "python, w3lib and a set" sh -c "python3 '$work/rival.py' <'$work/urls'"
else
	echo "| python with w3lib | not installed (pip install w3lib) | | |"
fi
