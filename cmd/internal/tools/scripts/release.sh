#!/bin/sh
# Builds what a release has into the directory given (default dist): binaries for each platform, man pages,
# shell completions, an SBOM, the licences of all that is linked in, checksums. Binaries are built twice, in two
# places, and must come out the same, byte by byte. PLATFORMS names other platforms.
set -eu
out=${1:-dist}
export GOTOOLCHAIN="${RELEASE_GO:-local}" # the toolchain that make names, so that a release does not have the faults of an older library
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64}
root=$(pwd)
rm -rf "$out" && mkdir -p "$out/man" "$out/completion"
out=$(cd "$out" && pwd)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) # of the man pages
export SOURCE_DATE_EPOCH
twice=$(mktemp -d)
trap 'rm -rf "$twice"' EXIT
git clone -q . "$twice/again"

# build DIR GOOS GOARCH FILE
build() {
	(cd "$1" && CGO_ENABLED=0 GOOS=$2 GOARCH=$3 go build -trimpath -ldflags '-s -w -buildid=' -o "$4" ./cmd/firstseen)
}

[ -z "$(git status --porcelain)" ] || { echo 'cannot release; the tree has changes that are not committed' >&2; exit 1; }
for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/}
	name=firstseen-$os-$arch
	build "$root" "$os" "$arch" "$out/$name"
	build "$twice/again" "$os" "$arch" "$twice/$name"
	cmp "$out/$name" "$twice/$name" || { echo "cannot release; $name differs from build to build" >&2; exit 1; }
	echo "$name: the same twice"
done
go run -tags man ./cmd/firstseen man "$out/man"
for shell in bash zsh fish powershell; do
	go run ./cmd/firstseen completion $shell >"$out/completion/firstseen.$shell"
done
go run ./cmd/internal/tools/licences -sbom -version "$(git describe --tags --always)" >"$out/firstseen.cdx.json"
go run ./cmd/internal/tools/licences >"$out/THIRD-PARTY.txt"
# With PACKAGES, a version of three numbers, packages for pip, npm and Debian.
[ -z "${PACKAGES:-}" ] || python3 cmd/internal/tools/packages/build.py "$out" "$PACKAGES"
cp LICENSE README.md CHANGELOG.md cmd/firstseen/deploy/firstseen.service cmd/firstseen/deploy/serve.conf cmd/firstseen/deploy/credentials.conf "$out"
(cd "$out" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
ls -l "$out"
