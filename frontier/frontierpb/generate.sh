#!/bin/sh
# Writes the stubs of urlfrontier.proto into the directory given, by default
# this one. Needs protoc (Debian: protobuf-compiler); the two Go plugins are
# built from the Go module proxy at the versions below.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
GOBIN=$plugins go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$plugins go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$plugins:$PATH protoc -I "$here" \
	--go_out="$out" --go_opt=paths=source_relative \
	--go-grpc_out="$out" --go-grpc_opt=paths=source_relative \
	urlfrontier.proto
