#!/bin/sh
# Vets and tests the examples that have a module of their own.
set -eu
for mod in examples/*/go.mod; do
	[ -e "$mod" ] || continue
	dir=$(dirname "$mod")
	echo "test $dir"
	(cd "$dir" && go vet ./... && go test -count=1 ./...)
done
