#!/bin/sh
# Writes the stubs of urlfrontier.proto into the directory given, by default this one.
# Needs protoc 3.15 or later (Debian: protobuf-compiler); the two Go plugins come from
# the Go module proxy, at the versions below. Ends with status 75 if one of these is not to be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
unavailable() {
	echo "cannot make the stubs: $1" >&2
	exit 75
}
version=$(protoc --version 2>/dev/null) || unavailable 'no protoc here (Debian: protobuf-compiler)'
case ${version#libprotoc } in
[0-2].* | 3.? | 3.?.* | 3.1[0-4] | 3.1[0-4].*) unavailable "got protoc $version; want 3.15 or later" ;;
esac
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
for plugin in google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12 google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2; do
	go run "$plugin" --version >/dev/null || unavailable "cannot build $plugin"
	name=${plugin##*/}
	printf '#!/bin/sh\nexec go run %s\n' "$plugin" >"$plugins/${name%@*}" # which go run links once, and keeps
	chmod +x "$plugins/${name%@*}"
done
PATH=$plugins:$PATH protoc -I "$here" \
	--go_out="$out" --go_opt=paths=source_relative \
	--go-grpc_out="$out" --go-grpc_opt=paths=source_relative \
	urlfrontier.proto
