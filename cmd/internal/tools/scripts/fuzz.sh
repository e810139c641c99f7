#!/bin/sh
# Runs every fuzz target of the main module for the time given (default 5s each), one after another.
set -eu
time=${1:-5s}
export FIRSTSEEN_FUZZING=1
for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$pkg"/*_test.go 2>/dev/null | sed 's/^func //' | sort -u); do
		echo "fuzz $target in ${pkg#"$PWD"/}"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" >/tmp/fuzz.$$ 2>&1 || { cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; exit 1; }
		tail -n 2 /tmp/fuzz.$$ | head -n 1
	done
done
rm -f /tmp/fuzz.$$
