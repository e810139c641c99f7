"""The newest row of each page of Parquet files, with all its columns, as newest_duckdb.py, by polars.

    python3 newest_polars.py crawl/*.parquet newest.parquet
"""

import io
import os
import subprocess
import sys

import polars

*sources, out = sys.argv[1:]
firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
by = os.environ.get("KEEP_BY", "timestamp")
command = [firstseen, "uniq", "-q", "--keep", "last", "--keep-by", by, "--format", "parquet", *sources]
keys = polars.read_parquet(io.BytesIO(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout), columns=["file", "row", "key"])


def rows_of(source):
    """The rows of a file that stay, with their keys. Over several files polars would count rows on; row counts from 1."""
    kept = keys.lazy().filter(polars.col("file") == source).select(polars.col("row").alias("firstseen_row"), "key")
    rows = polars.scan_parquet(source, row_index_name="firstseen_row").with_columns((polars.col("firstseen_row") + 1).cast(polars.Int64))
    return rows.join(kept, on="firstseen_row").drop("firstseen_row")


polars.concat(map(rows_of, sources), how="diagonal_relaxed").sink_parquet(out)
