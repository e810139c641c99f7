#!/bin/sh
# Runs uniq beside what people use today on the same real list, one after another in one run,
# and prints wall and processor seconds, the ratio of each and the lines that it printed.
# Usage: uniq.sh [LIST.zst]; the list is looked for in ../shared where none is given. anew, uro
# and urldedupe are measured if they are in the path; uro on the first 200,000 lines.
set -eu
cd "$(dirname "$0")/../../../../.."
list=${1:-${FIRSTSEEN_SHARED:-../shared}/logs/large/docs-linkstream.urls.zst}
[ -e "$list" ] || { echo "skipped: there is no $list"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/firstseen" ./cmd/firstseen
zstd -dcq --long=27 "$list" >"$work/urls"
head -n 200000 "$work/urls" >"$work/head"

# measure NAME COMMAND: the command's output is counted.
measure() {
	name=$1
	shift
	bash -c 'out=$1; shift; TIMEFORMAT="%R %U %S"; time "$@" >"$out" 2>/dev/null' - "$work/out" "$@" 2>"$work/time" || { echo "| $name | failed | | | |"; return 0; }
	awk -v name="$name" -v base="${base:-0}" -v lines="$(wc -l <"$work/out")" '{
		printf "| %s | %.2f | %.2f | %s | %d |\n", name, $1, $2 + $3, (base > 0 ? sprintf("%.2f", $1 / base) : ""), lines
	}' "$work/time"
}

# there NAME: whether a program is in the path; if not, a row says so.
there() { command -v "$1" >/dev/null 2>&1 || { echo "| $1 | not installed | | | |"; return 1; }; }

wc -l <"$work/urls" | awk '{ print $1 " lines\n\n| | s | s of processors | times as long | lines printed |\n|---|--:|--:|--:|--:|" }'
measure "firstseen uniq" "$work/firstseen" uniq "$work/urls"
base=$(awk '{ print $1 }' "$work/time")
measure "firstseen uniq, zstd" "$work/firstseen" uniq "$list"
measure "LC_ALL=C sort -u" env LC_ALL=C sort -u "$work/urls"
measure "awk '!seen[\$0]++'" awk '!seen[$0]++' "$work/urls"
! there anew || measure "anew" sh -c "anew '$work/kept' <'$work/urls'"
! there urldedupe || measure "urldedupe" urldedupe -u "$work/urls"
base=0
measure "firstseen uniq, first 200,000 lines" "$work/firstseen" uniq "$work/head"
base=$(awk '{ print $1 }' "$work/time")
! there uro || measure "uro, first 200,000 lines" uro -i "$work/head"
