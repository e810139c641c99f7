#!/bin/sh
# Installs what the interop tests need, and prints the variables to run them
# with: the Java dependencies into Maven's local repository, a Python virtual
# environment in the directory given, and Crawlee in that, where npm can.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:?usage: install.sh DIRECTORY}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mvn -q -B -f "$here/java/pom.xml" -DbuildDirectory="$scratch" -Dmdep.outputFile="$scratch/path" \
	compile dependency:build-classpath >&2
python3 -m venv "$venv" >&2
"$venv/bin/pip" install -q grpcio==1.85.1 grpcio-tools==1.85.1 schemathesis==4.32.5 >&2
echo "FIRSTSEEN_PYTHON=$venv/bin/python"
crawlee="$venv/crawlee"
mkdir -p "$crawlee"
cp "$here/../../../examples/crawlee/"*.mjs "$here/../../../examples/crawlee/"*.json "$crawlee"
if (cd "$crawlee" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2; then
	echo "FIRSTSEEN_CRAWLEE=$crawlee"
else
	echo "cannot install Crawlee with npm; its test is skipped" >&2
fi
