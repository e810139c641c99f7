#!/bin/sh
# Runs the bench of every part, one after the other, and writes one Markdown page to standard output: the machine,
# the versions, and for each part its command and what it printed. Give the names of parts to run only those.
# Nothing else should run on the machine meanwhile; the page says how busy it was.
set -u
parts=${*:-canon hashkey store frontier serve replay uniq redis}

version() { command -v "$1" >/dev/null 2>&1 && "$@" 2>&1 | head -n 1; }

echo "# Benchmarks of $(date -u +%Y-%m-%d)"
echo
echo "Each part ran beside its rivals in one run, so what counts are the ratios: another machine, or a busy one, moves both sides."
echo
echo "- machine: $(nproc) processors, $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r)"
echo "- revision: $(git rev-parse --short HEAD)$(git diff --quiet || echo ' with changes')"
for tool in 'go version' 'rustc --version' 'g++ --version' 'python3 --version' 'java -version' 'redis-server --version'; do
	line=$(version $tool) && [ -n "$line" ] && echo "- $line"
done

# Programs of ours print Markdown; lines of `go test -bench` become a table.
table() {
	awk '/^Benchmark.*\/op/ {
		if (!begun++) print "| benchmark | |\n|---|---|"
		name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
		printf "| %s |", name
		for (i = 3; i < NF; i += 2) printf " %s %s%s", $i, $(i + 1), i + 2 < NF ? "," : ""
		print " |"; next
	}
	/^(goos|goarch|pkg|cpu):|^PASS|^ok / { next }
	{ print; fflush() }'
}

for part in $parts; do
	printf '\n## %s\n\n`make bench-%s`, from %s, with %s others wanting a processor:\n\n' "$part" "$part" "$(date -u +%H:%M)" "$(cut -d' ' -f1 /proc/loadavg)"
	${MAKE:-make} --no-print-directory -s "bench-$part" 2>&1 | sed -u "s|$(pwd)|.|g" | table
done
