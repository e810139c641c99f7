"""The newest row of each page of a Parquet file, with all its columns, as newest_duckdb.py, by polars.

    python3 newest_polars.py crawl.parquet newest.parquet
"""

import io
import os
import subprocess
import sys

import polars

source, out = sys.argv[1:]
firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
command = [firstseen, "uniq", "-q", "--keep", "last", "--keep-by", "timestamp", "--format", "parquet", source]
keys = polars.read_parquet(io.BytesIO(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout), columns=["row", "key"])
rows = polars.scan_parquet(source, row_index_name="row").with_columns((polars.col("row") + 1).cast(polars.Int64))
rows.join(keys.lazy(), on="row").drop("row").sink_parquet(out)
