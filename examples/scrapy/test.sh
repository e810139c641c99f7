#!/bin/sh
# Tests the package with real Scrapy in a virtual environment under bin/, against a
# daemon built from this tree, or the program that FIRSTSEEN_BIN names.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../.. && pwd)/bin
venv=$bin/scrapy-venv
sh install.sh "$venv" || {
	[ $? = 75 ] || exit 1
	echo 'skip examples/scrapy'
	exit 0
}
[ -n "${FIRSTSEEN_BIN:-}" ] || (cd ../.. && go build -o "$bin/firstseen" ./cmd/firstseen)
cd tests
export PYTHONDONTWRITEBYTECODE=1 FIRSTSEEN_BIN="${FIRSTSEEN_BIN:-$bin/firstseen}"
# Side by side: they mostly wait for pages, leases and politeness.
pids=
for module in test_*.py; do
	"$venv/bin/python" -m unittest "$module" &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
