"""Runs each recipe on the same small corpus and compares what it keeps: python test_recipes.py RECIPE.py…"""

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

rows = [
    ("http://a.example/?b=1&a=1", "2026-01-01T00:00:00Z", "old"),
    ("HTTP://A.example:80/?a=1&b=1#x", "2026-03-01T00:00:00Z", "newest"),
    ("http://a.example/?a=1&b=1", "2026-02-01T00:00:00Z", "middle"),
    ("http://b.example/", "2026-01-01T00:00:00Z", "one"),
    ("not a URL", "2026-01-01T00:00:00Z", "none"),
]
want = [("newest", "HTTP://A.example:80/?a=1&b=1#x"), ("one", "http://b.example/")]
keys = set()
with tempfile.TemporaryDirectory() as dir:
    source = f"{dir}/corpus.parquet"
    db = duckdb.connect()
    db.execute("create table corpus (url varchar, timestamp varchar, title varchar)")
    db.executemany("insert into corpus values (?, ?, ?)", rows)
    db.execute(f"copy corpus to '{source}' (format parquet)")
    for recipe in sys.argv[1:]:
        out = f"{dir}/{Path(recipe).stem}.parquet"
        subprocess.run([sys.executable, recipe, source, out], check=True, stderr=subprocess.PIPE)
        files = out if Path(out).is_file() else f"{out}/*.parquet"
        got = db.sql(f"select title, url from '{files}' order by title").fetchall()
        assert got == want, f"{recipe}: got {got}; want {want}"
        keys.add(tuple(db.sql(f"select key from '{files}' order by title").fetchall()))
        print("ok", recipe)
assert len(keys) == 1, f"the recipes give different keys: {keys}"
