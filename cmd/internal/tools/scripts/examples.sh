#!/bin/sh
# Vets and tests the examples that have a module of their own, and runs the test.sh of those in other languages.
set -eu
kept=$(pwd)/bin/tests/examples/ # go test -o: what has not changed is not linked again
for mod in examples/*/go.mod; do
	[ -e "$mod" ] || continue
	dir=$(dirname "$mod")
	echo "test $dir"
	(cd "$dir" && go vet ./... && go test -count=1 -vet=off -o "$kept" ./...)
done
for script in examples/*/test.sh; do
	[ -e "$script" ] || continue
	echo "test $(dirname "$script")"
	sh "$script"
done
