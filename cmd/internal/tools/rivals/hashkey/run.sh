#!/bin/sh
# Measures hashkey against the crates on the URLs of the files given, or of the shared logs.
# It needs cargo; without it there is nothing to compare with, and it says so.
set -eu
cd "$(dirname "$0")"
command -v cargo >/dev/null || { echo 'cannot compare: cargo is not here; https://rustup.rs has it' >&2; exit 0; }
shared=${FIRSTSEEN_SHARED:-../../../../../../shared}
[ $# -gt 0 ] || set -- "$shared"/logs/urls/*
[ -e "$1" ] || { echo "cannot compare: no URLs at $1; name files of URLs, or set FIRSTSEEN_SHARED" >&2; exit 2; }
cargo build --release --locked --quiet
go build -o target/compare .
exec target/compare -rounds "${ROUNDS:-11}" target/release/rivals "$@"
