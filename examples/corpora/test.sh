#!/bin/sh
# Runs the recipes with DuckDB and polars, and with Spark where there are a Java for it and the time to install it
# (FIRSTSEEN_SPARK=1: 900 MB). What cannot be had is skipped with its reason.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
skip() {
	echo "skip corpora: $1" >&2
	exit 0
}
export FIRSTSEEN_BIN="${FIRSTSEEN_BIN:-$root/bin/firstseen}"
[ -x "$FIRSTSEEN_BIN" ] || skip "there is no $FIRSTSEEN_BIN: run make build"
venv=$root/bin/corpora-venv
python3 -c 'import sys, ensurepip; assert sys.version_info >= (3, 10)' 2>/dev/null || skip 'no Python 3.10 with venv here'
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" || skip 'Python makes no virtual environment'
pip() { "$venv/bin/pip" install -q --retries 2 --timeout 30 --disable-pip-version-check "$@"; }
cmp -s requirements.txt "$venv/installed" || pip -r requirements.txt || skip 'no answer from PyPI, or no packages for this Python'
cp requirements.txt "$venv/installed"
recipes='newest_duckdb.py newest_polars.py'
if [ -z "${FIRSTSEEN_SPARK:-}" ]; then
	echo 'skip Spark: FIRSTSEEN_SPARK=1 installs it' >&2
elif ! java -version >/dev/null 2>&1; then
	echo 'skip Spark: no java here' >&2
elif ! pip pyspark==4.3.0; then
	echo 'skip Spark: no answer from PyPI' >&2
else
	recipes="$recipes newest_spark.py"
fi
# shellcheck disable=SC2086
"$venv/bin/python" test_recipes.py $recipes
