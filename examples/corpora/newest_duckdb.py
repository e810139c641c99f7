"""The newest row of each page of a Parquet file, with all its columns.

    python3 newest_duckdb.py crawl.parquet newest.parquet

firstseen compares the URLs and names the rows, in bounded memory; DuckDB fetches them. The newest
row is the one with the greatest timestamp. "make build" makes the program: put bin/firstseen into your path, or its name into
FIRSTSEEN_BIN. "pip install -r requirements.txt" brings DuckDB and polars; Spark's recipe needs pyspark and a Java.
"""

import os
import subprocess
import sys
import tempfile

import duckdb

source, out = sys.argv[1:]
firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
with tempfile.TemporaryDirectory() as dir:
    keys = f"{dir}/keys.parquet"
    with open(keys, "wb") as f:
        subprocess.run([firstseen, "uniq", "-q", "--keep", "last", "--keep-by", "timestamp", "--format", "parquet", source], stdout=f, check=True)
    duckdb.sql(f"""copy (
        select rows.* exclude (file_row_number), keys.key
        from read_parquet('{source}', file_row_number = true) rows join '{keys}' keys on keys.row = rows.file_row_number + 1
    ) to '{out}' (format parquet)""")
