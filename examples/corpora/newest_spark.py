"""The newest row of each page of a corpus that is larger than one machine, with all its columns, by Spark.

    spark-submit newest_spark.py s3://corpus/*.parquet s3://newest

Each worker pipes its URLs through firstseen, which must be in its path; Spark shuffles by key.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

source, out = sys.argv[1:]
firstseen = os.environ.get("FIRSTSEEN_BIN", "firstseen")
spark = SparkSession.builder.appName("newest").getOrCreate()
rows = spark.read.parquet(source)
urls = rows.select("url").dropDuplicates().rdd.map(lambda row: row.url)
keys = spark.read.schema("input string, key string").json(urls.pipe(f"{firstseen} canon --json"))
keyed = rows.join(keys.where("key is not null"), rows.url == keys.input).drop("input")
newest = keyed.groupBy("key").agg(f.max_by(f.struct(*rows.columns), "timestamp").alias("row")).select("row.*", "key")
newest.write.mode("overwrite").parquet(out)

# Without a column that says which is the newest, any row of a page will do: keyed.dropDuplicates(["key"])
