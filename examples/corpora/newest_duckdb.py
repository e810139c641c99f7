"""The newest row of each page of Parquet files, with all its columns.

    python3 newest_duckdb.py crawl/*.parquet newest.parquet

firstseen compares the URLs and names the rows, in bounded memory; DuckDB fetches them. The newest row is the one with the greatest
timestamp; KEEP_BY names another column. "make build" makes the program: put bin/firstseen into your path, or its name into
FIRSTSEEN_BIN. "pip install -r requirements.txt" brings DuckDB and polars; Spark's recipe needs pyspark and a Java.
"""

import os
import subprocess
import sys
import tempfile

import duckdb

*sources, out = sys.argv[1:]
firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
by = os.environ.get("KEEP_BY", "timestamp")
with tempfile.TemporaryDirectory() as dir:
    keys = f"{dir}/keys.parquet"
    with open(keys, "wb") as f:
        subprocess.run([firstseen, "uniq", "-q", "--keep", "last", "--keep-by", by, "--format", "parquet", *sources], stdout=f, check=True)
    # file_row_number counts from 0, row from 1. The files may differ in their columns.
    duckdb.execute(
        f"""copy (
        select rows.* exclude (firstseen_file, file_row_number), keys.key
        from read_parquet($1, filename = 'firstseen_file', file_row_number = true, union_by_name = true) rows
        join '{keys}' keys on keys.file = rows.firstseen_file and keys.row = rows.file_row_number + 1
    ) to '{out}' (format parquet)""",
        [sources],
    )
