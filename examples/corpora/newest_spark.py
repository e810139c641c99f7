"""The newest row of each page of a corpus that is larger than one machine, with all its columns, by Spark.

    spark-submit newest_spark.py s3://corpus/*.parquet s3://newest

Each worker passes its URLs through firstseen, which is in its path or at FIRSTSEEN_BIN; Spark shuffles by key. The newest row is
the one with the greatest timestamp; KEEP_BY names another column.
"""

import base64
import collections
import json
import os
import shutil
import subprocess
import sys
import threading


def keys(urls, firstseen):
    """Yields each URL, as bytes, with the key of its page; None if it is no URL.

    RDD.pipe would lose line ends and bytes that are not UTF-8, and starts programs without an environment.
    """
    program = shutil.which(firstseen)
    if program is None:
        raise FileNotFoundError(f"no {firstseen} in the path of the worker: {os.environ.get('PATH')}; set FIRSTSEEN_BIN")
    canon = subprocess.Popen([program, "canon", "--input", "jsonl", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    asked, failed = collections.deque(), []

    def ask():
        try:
            with canon.stdin as f:
                for url in urls:
                    asked.append(url)
                    f.write(json.dumps({"input_bytes": base64.b64encode(url).decode()}).encode() + b"\n")
        except Exception as problem:
            failed.append(problem)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    for line in canon.stdout:  # an answer for each, in order
        yield asked.popleft(), json.loads(line).get("key")
    asking.join()
    if failed or asked or canon.wait() > 1:  # 1: some were refused
        raise RuntimeError(f"{program} ended with {canon.wait()} and left {len(asked)} URLs without an answer") from (failed or [None])[0]


def main(source, out, by):
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
    spark = SparkSession.builder.appName("newest").getOrCreate()
    rows = spark.read.option("mergeSchema", True).parquet(source)
    url = rows.url.cast("binary")  # all bytes as they are
    urls = rows.where("url is not null").select(url.alias("url")).distinct().rdd.map(lambda row: bytes(row.url))
    keyed = spark.createDataFrame(urls.mapPartitions(lambda part: keys(part, firstseen)), "firstseen_url binary, key string")
    keyed = rows.join(keyed.where("key is not null"), url == keyed.firstseen_url).drop("firstseen_url")
    newest = f.max_by(f.struct(*rows.columns), f.struct(by))  # in a struct, since max_by skips rows whose value is null
    keyed.groupBy("key").agg(newest.alias("row")).select("row.*", "key").write.mode("overwrite").parquet(out)

    # Without a column that says which is the newest, any row of a page will do: keyed.dropDuplicates(["key"])


if __name__ == "__main__":
    main(*sys.argv[1:], os.environ.get("KEEP_BY", "timestamp"))
