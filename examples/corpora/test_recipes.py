"""Runs each recipe on the same small corpus of two files and an empty one, and compares what it keeps: python test_recipes.py RECIPE.py…"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

import newest_spark

rows = [
    ("http://a.example/?b=1&a=1", "2026-01-01T00:00:00Z", "old"),
    ("HTTP://A.example:80/?a=1&b=1#x", "2026-03-01T00:00:00Z", "newest"),
    ("http://a.example/?a=1&b=1", "2026-02-01T00:00:00Z", "middle"),
    ("http://b.example/", "2026-01-01T00:00:00Z", "one"),
    ("not a URL", "2026-01-01T00:00:00Z", "none"),
    (None, "2026-01-01T00:00:00Z", "none"),
    ("http://c.example/", "2026-01-01T00:00:00Z", "without its blanks"),
    (" http://c.example/\r\n", "2026-02-01T00:00:00Z", "with blanks"),
    ("http://d.example/a\nb", "2026-01-01T00:00:00Z", "with a line feed"),
    ("http://e.example/\x00\t\x85\u2028é", "2026-01-01T00:00:00Z", "with other line ends"),
]
later = [("http://b.example/#top", "2026-02-01T00:00:00Z", "one, later", 7), ("http://f.example/", None, "without a time", 7)]
want = sorted(
    [(title, url, None) for url, _, title in rows if title in ("newest", "with blanks", "with a line feed", "with other line ends")]
    + [("one, later", "http://b.example/#top", 7), ("without a time", "http://f.example/", 7)]
)

# What Spark's workers do, without Spark: whatever bytes a URL has, it gets an answer of its own.
firstseen = os.environ["FIRSTSEEN_BIN"]
urls = [url.encode() for url, *_ in rows + later if url] + [b"http://g.example/" + bytes([c]) for c in range(256)] + [b"", b"\xff\n\xfe", b"x" * 100_000]
got = list(newest_spark.keys(iter(urls * 20), firstseen))
assert [url for url, _ in got] == urls * 20, "the pipe loses or mixes up URLs"
by_url = dict(got)
assert by_url[b"http://c.example/"] == by_url[b" http://c.example/\r\n"] is not None and by_url[b"not a URL"] is None
assert sum(key is None for key in by_url.values()) == 4, f"refused: {[url[:50] for url, key in by_url.items() if key is None]}"
os.environ["PATH"] = f"{Path(firstseen).parent}:{os.environ['PATH']}"
assert dict(newest_spark.keys(iter(urls), Path(firstseen).name)) == by_url
for bad in ("no-such-program", "false"):
    try:
        list(newest_spark.keys(iter(urls * 1000), bad))
    except (FileNotFoundError, RuntimeError):
        continue
    raise AssertionError(f"{bad}: no error")
print("ok the pipe of newest_spark.py")

keys = set()
with tempfile.TemporaryDirectory() as dir:
    (Path(dir) / "corpus").mkdir()
    sources = [f"{dir}/corpus/1.parquet", f"{dir}/corpus/2.parquet", f"{dir}/corpus/empty.parquet"]
    db = duckdb.connect()
    db.execute("create table corpus (url varchar, timestamp varchar, title varchar)")
    db.executemany("insert into corpus values (?, ?, ?)", rows)
    db.execute(f"copy corpus to '{sources[0]}' (format parquet)")
    db.execute("create table later (url varchar, timestamp varchar, title varchar, more integer)")
    db.executemany("insert into later values (?, ?, ?, ?)", later)
    db.execute(f"copy later to '{sources[1]}' (format parquet)")
    db.execute(f"copy (select * from later limit 0) to '{sources[2]}' (format parquet)")
    for recipe in sys.argv[1:]:
        out = f"{dir}/{Path(recipe).stem}.parquet"
        files = [f"{dir}/corpus/*.parquet"] if "spark" in recipe else sources
        subprocess.run([sys.executable, recipe, *files, out], check=True)
        files = out if Path(out).is_file() else f"{out}/*.parquet"
        got = db.sql(f"select title, url, more from '{files}' order by title").fetchall()
        assert got == want, f"{recipe}: got {got}; want {want}"
        keys.add(tuple(db.sql(f"select key from '{files}' order by title").fetchall()))
        print("ok", recipe)
assert len(keys) == 1, f"the recipes give different keys: {keys}"
