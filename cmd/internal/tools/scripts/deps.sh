#!/bin/sh
# Installs by apt the programs that some tests drive, where they are missing and can be installed.
# Without them those tests are skipped, and say why.
set -u
missing=
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need chromium chromium
need mvn maven
need javac default-jdk-headless
need protoc protobuf-compiler
need redis-server redis-server
need promtool prometheus
# axe checks the pages for accessibility. It is installed for the tests and not part of firstseen.
axe=bin/axe
if [ ! -e "$axe/node_modules/axe-core/axe.min.js" ]; then
	mkdir -p "$axe" && cp cmd/internal/tools/browser/axe/*.json "$axe" &&
		npm ci --prefix "$axe" --prefer-offline --fetch-retries=1 --fetch-timeout=60000 --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1 ||
		echo 'cannot install axe-core from npm; the tests that drive it are skipped'
fi
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "not here, so the tests that drive them are skipped:$missing"
	exit 0
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of names
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
	echo "cannot install$missing; the tests that drive them are skipped"
