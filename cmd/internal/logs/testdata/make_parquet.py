"""Writes Parquet files of captures of Common Crawl's index, as pyarrow and DuckDB write them.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1 duckdb==2.0.0
    venv/bin/python make_parquet.py MOCKS DIRECTORY

MOCKS are recorded answers of the index server: the files tests/data/mock_responses of
cocrawler/cdx_toolkit. The columns are those of the columnar index.
"""

import datetime
import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq


def captures(files):
    for name in files:
        for line in open(name):
            text = json.loads(line).get("response_text") or ""
            for row in text.splitlines():
                if not row.startswith("{"):
                    continue
                c = json.loads(row)
                if "urlkey" in c and "status" in c:
                    yield c


def table(rows):
    def column(name, kind=pa.string(), make=lambda v: v):
        return pa.array([None if name not in r else make(r[name]) for r in rows], kind)

    def when(stamp):
        return datetime.datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=datetime.timezone.utc)

    return pa.table({
        "url_surtkey": column("urlkey"),
        "url": column("url"),
        "fetch_time": column("timestamp", pa.timestamp("ms", "UTC"), when),
        "fetch_status": column("status", pa.int16(), int),
        "content_digest": column("digest"),
        "content_mime_type": column("mime"),
        "content_mime_detected": column("mime-detected"),
        "fetch_redirect": column("redirect"),
        "warc_record_length": column("length", pa.int32(), int),
    })


def main():
    *mocks, out = sys.argv[1:]
    t = table(list(captures(mocks)))
    small = t.slice(0, 60)
    # as Spark does: gzip, 96-bit times, several row groups
    pq.write_table(small, f"{out}/pyarrow-gzip-int96.parquet", compression="gzip", use_deprecated_int96_timestamps=True, row_group_size=25)
    # pages of version 2, zstd, small pages, differences
    pq.write_table(small, f"{out}/pyarrow-v2-zstd.parquet", compression="zstd", data_page_version="2.0", data_page_size=512, use_dictionary=False,
                   column_encoding={"fetch_status": "DELTA_BINARY_PACKED", "url": "DELTA_LENGTH_BYTE_ARRAY"})
    db = duckdb.connect()
    db.register("captures", small)
    db.execute(f"COPY (SELECT * FROM captures) TO '{out}/duckdb.parquet' (FORMAT parquet)")
    db.execute(f"COPY (SELECT * FROM captures) TO '{out}/duckdb-v2.parquet' (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION gzip)")
    db.execute(f"COPY (SELECT url FROM captures) TO '{out}/duckdb-urls.parquet' (FORMAT parquet, COMPRESSION uncompressed)")
    with open(f"{out}/parquet.jsonl", "w") as f:
        for row in small.to_pylist():
            row["fetch_time"] = row["fetch_time"].strftime("%Y%m%d%H%M%S")
            f.write(json.dumps({k: v for k, v in row.items() if v is not None and k != "url_surtkey"}) + "\n")
    print(t.num_rows, "captures,", small.num_rows, "written")


main()
