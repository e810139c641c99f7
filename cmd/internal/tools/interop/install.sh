#!/bin/sh
# Usage: install.sh DIRECTORY COMMAND...
# Installs what the interop tests drive into DIRECTORY, and runs COMMAND with the variables that
# name it. What this machine lacks, or cannot fetch from Maven Central, PyPI, npm or the Go
# module proxy, is left out with its reason: tests skip what no variable names. It keeps no files
# in the home directory but caches, and uses no Maven repository that other projects have filled.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../../../examples
mkdir -p "${1:?usage: install.sh DIRECTORY COMMAND...}"
dir=$(cd "$1" && pwd)
shift

# try NAME COMMAND... runs a command; if it fails, it prints the reason why the tests of NAME are skipped.
try() {
	name=$1
	shift
	"$@" >"$dir/log" 2>&1 && return 0
	{
		echo "skip $name: cannot run: $*"
		{ grep -iE 'error|not found|cannot' "$dir/log" || tail -n 3 "$dir/log"; } | head -n 3
	} >&2
	return 1
}

# fresh FILE INSTALLED reports whether what FILE asks for is installed: then INSTALLED is a copy of it. If not, there is none.
fresh() {
	cmp -s "$1" "$2" || { rm -f "$2" && return 1; }
}

# The Java tests compile one file, so the java here must have a compiler.
java_stubs() {
	compiler=$(java --list-modules 2>/dev/null | sed -n 's/^jdk\.compiler@\([0-9]*\).*/\1/p')
	if ! [ "${compiler:-0}" -ge 17 ]; then
		echo 'skip Java: needs a JDK of version 17 or later' >&2
		return 0
	fi
	fresh "$here/java/pom.xml" "$dir/pom.xml" ||
		try Java mvn -q -B -f "$here/java/pom.xml" -Dmaven.repo.local="$dir/maven" -Dmaven.wagon.http.retryHandler.count=1 \
			dependency:build-classpath -Dmdep.outputFile="$dir/classpath" || return 0
	cp "$here/java/pom.xml" "$dir/pom.xml"
	FIRSTSEEN_JAVA_STUBS=$(cat "$dir/classpath")
	export FIRSTSEEN_JAVA_STUBS
}

python() {
	try Python python3 -c 'import sys; assert sys.version_info >= (3, 9), "needs Python 3.9 or later"' || return 0
	FIRSTSEEN_PYTHON=$(command -v python3)
	export FIRSTSEEN_PYTHON
	packages='grpcio==1.85.1 grpcio-tools==1.85.1 schemathesis==4.32.5'
	# shellcheck disable=SC2086 # a list of names
	if [ "$(cat "$dir/venv/installed" 2>/dev/null)" = "$packages" ] || {
		{ [ -x "$dir/venv/bin/pip" ] || try 'Python with packages' python3 -m venv "$dir/venv"; } &&
			try 'Python with packages' "$dir/venv/bin/pip" install -q --retries 2 --timeout 30 --disable-pip-version-check $packages
	}; then
		echo "$packages" >"$dir/venv/installed"
		export FIRSTSEEN_PYTHON_PACKAGES="$dir/venv/bin/python"
	fi
	if try Scrapy sh "$examples/scrapy/install.sh" "$dir/../scrapy-venv"; then
		export FIRSTSEEN_SCRAPY="$dir/../scrapy-venv/bin/scrapy"
	fi
}

javascript() {
	try Node node -e 'if (typeof fetch !== "function" || !URL.canParse) throw new Error("needs Node 18.17 or later")' || return 0
	FIRSTSEEN_NODE=$(command -v node)
	export FIRSTSEEN_NODE
	mkdir -p "$dir/crawlee"
	cp "$examples/crawlee/"*.mjs "$examples/crawlee/"*.json "$dir/crawlee"
	if fresh "$examples/crawlee/package-lock.json" "$dir/package-lock.json" ||
		try Crawlee npm ci --prefix "$dir/crawlee" --prefer-offline --fetch-retries=1 --fetch-timeout=60000 \
			--ignore-scripts --no-audit --no-fund --loglevel=error; then
		cp "$examples/crawlee/package-lock.json" "$dir/package-lock.json"
		export FIRSTSEEN_CRAWLEE="$dir/crawlee/crawl.mjs"
	fi
}

colly() {
	if try colly "${GO:-go}" -C "$examples/colly" build -o "$dir/colly" .; then
		export FIRSTSEEN_COLLY="$dir/colly"
	fi
}

java_stubs
python
javascript
colly
exec "$@"
