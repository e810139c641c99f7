#!/bin/sh
# Tests the package with real Scrapy in a virtual environment under bin/, against a
# daemon built from this tree, or the program that FIRSTSEEN_BIN names.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../.. && pwd)/bin
venv=$bin/scrapy-venv
skip() {
	echo "skip examples/scrapy: $1"
	exit 0
}
python3 -c 'import sys, ensurepip; assert sys.version_info >= (3, 11)' 2>/dev/null || skip "no Python 3.11 with venv here"
mkdir -p "$bin"
python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check -r tests/requirements.txt || skip "cannot install Scrapy from PyPI"
"$venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .
rm -rf build ./*.egg-info
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
