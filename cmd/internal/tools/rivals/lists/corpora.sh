#!/bin/sh
# Runs uniq beside DuckDB and polars on one Parquet file of made-up URLs, in turn, and prints wall and processor seconds,
# peak memory and rows of each run. DuckDB and polars compare texts; uniq compares canonical forms.
# Usage: corpora.sh [ROWS [PAIRS]]. Needs GNU time, and a python3 (or $PYTHON) that has duckdb and polars, such as
# bin/corpora-venv/bin/python after examples/corpora/test.sh.
set -eu
cd "$(dirname "$0")/../../../../.."
rows=${1:-20000000}
pairs=${2:-3}
python=${PYTHON:-bin/corpora-venv/bin/python}
"$python" -c 'import duckdb, polars' 2>/dev/null || { echo "skipped: $python has no duckdb and polars: run sh examples/corpora/test.sh"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/firstseen" ./cmd/firstseen

# Every second row repeats an earlier page, one in twenty of all rows in another spelling.
cat >"$work/make.py" <<'PY'
import sys
import duckdb

out, rows = sys.argv[1], int(sys.argv[2])
duckdb.execute("set threads = 1")
duckdb.execute(f"""
copy (
  with rows as (select i, if(i % 2 = 0, i, (hash(i) >> 1)::bigint % (i // 2 + 1) * 2) as page, hash(i * 7 + 1) % 20 as spelling from range({rows}) r(i)),
  pages as (select *, (hash(page) >> 1)::bigint as h, (hash(page + 1000000007) >> 1)::bigint as g from rows)
  select
    if(spelling = 0 and i % 2 = 1, 'HTTP', 'https') || '://' || ['www.', '', 'news.'][h % 3 + 1] || 'site-' || h // 3 % 200000
    || ['.com', '.org', '.co.uk', '.example.net'][h // 7 % 4 + 1]
    || '/' || ['articles', 'product-catalogue', '2024/05/17', 'forum/thread', 'wiki'][h // 11 % 5 + 1] || '/' || page || '-' || to_hex(g)
    || ['.html', '?page=' || g % 50, '?id=' || g % 100000 || '&lang=en', '/'][h // 13 % 4 + 1] || if(spelling = 1 and i % 2 = 1, '#top', '') as url
  from pages order by i
) to '{out}' (format parquet, compression zstd)""")
PY
cat >"$work/with_duckdb.py" <<'PY'
import sys
import duckdb

source, out, form, dir = sys.argv[1:]
duckdb.execute(f"set memory_limit = '300MB'; set temp_directory = '{dir}/spill'; set preserve_insertion_order = false")
duckdb.execute(f"copy (select distinct url from '{source}') to '{out}' ({form})")
PY
cat >"$work/with_polars.py" <<'PY'
import sys
import polars

source, out = sys.argv[1:]
polars.scan_parquet(source).unique().sink_parquet(out)
PY
"$python" "$work/make.py" "$work/urls.parquet" "$rows"

# measure NAME COMMAND: its standard output goes to a file.
measure() {
	name=$1
	shift
	/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" >"$work/lines" 2>"$work/err" || { echo "| $name | failed: $(tail -n 1 "$work/err") | | |"; return 0; }
	awk -v name="$name" '{ printf "| %s | %.1f | %.1f | %d |\n", name, $1, $2 + $3, $4 / 1024 }' "$work/time"
}

echo "$rows rows; memory of uniq and DuckDB set to 300 MB"
echo
printf '| | s | s of processors | MB at most |\n|---|--:|--:|--:|\n'
for _ in $(seq "$pairs"); do
	measure "firstseen uniq, to lines" "$work/firstseen" uniq --memory 300M "$work/urls.parquet"
	measure "DuckDB, select distinct, to lines" "$python" "$work/with_duckdb.py" "$work/urls.parquet" "$work/out" 'format csv, header false' "$work"
	measure "firstseen uniq, to Parquet" "$work/firstseen" uniq --memory 300M --format parquet "$work/urls.parquet"
	measure "DuckDB, select distinct, to Parquet" "$python" "$work/with_duckdb.py" "$work/urls.parquet" "$work/out" 'format parquet' "$work"
done
measure "polars, unique, to Parquet" "$python" "$work/with_polars.py" "$work/urls.parquet" "$work/out"
