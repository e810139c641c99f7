#!/bin/sh
# Installs the package and Scrapy, as tests/requirements.txt pins it, into the virtual environment VENV.
# Ends with status 75 if this machine has no such Python or PyPI cannot be reached.
set -eu
venv=${1:?usage: install.sh VENV}
cd "$(dirname "$0")"
unavailable() {
	echo "cannot install Scrapy: $1" >&2
	exit 75
}
python3 -c 'import sys, ensurepip; assert sys.version_info >= (3, 11)' 2>/dev/null || unavailable 'no Python 3.11 with venv here'
mkdir -p "$(dirname "$venv")"
# Two targets of make ask for it at the same time.
exec 9>"$venv.lock"
! command -v flock >/dev/null || flock 9
state=$(cat install.sh pyproject.toml tests/requirements.txt firstseen_scrapy/*.py ../../cmd/internal/tools/packages/python/firstseen/*.py | cksum)
[ "$(cat "$venv/installed" 2>/dev/null)" != "$state" ] || exit 0
python3 -m venv "$venv" || unavailable 'Python makes no virtual environment'
pip() { "$venv/bin/pip" install -q --retries 2 --timeout 30 --disable-pip-version-check "$@"; }
pip -r tests/requirements.txt || unavailable 'no answer from PyPI, or no packages for this Python'
pip --no-deps --no-build-isolation --force-reinstall .
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
rm -rf "$site/firstseen"
cp -R ../../cmd/internal/tools/packages/python/firstseen "$site/firstseen" # its program is FIRSTSEEN_BIN
rm -rf build ./*.egg-info
echo "$state" >"$venv/installed"
