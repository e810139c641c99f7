"""Prints the messages of a public-inbox by its index and its repository, a JSON object a line."""
import email
import json
import pathlib
import sqlite3
import subprocess
import sys

inbox = pathlib.Path(sys.argv[1])
markers = {}
log = subprocess.run(["git", "-C", inbox / "git/0.git", "log", "--format=%H:m"], capture_output=True, check=True).stdout
blobs = subprocess.run(["git", "-C", inbox / "git/0.git", "cat-file", "--batch"], input=log, capture_output=True, check=True).stdout
while blobs:
    line, _, rest = blobs.partition(b"\n")
    size = int(line.split()[2])
    message = email.message_from_bytes(rest[:size])
    markers[message["Message-ID"].strip("<>")] = message.get_payload().split()[-1]
    blobs = rest[size + 1:]
for (mid,) in sqlite3.connect(inbox / "msgmap.sqlite3").execute("SELECT mid FROM msgmap ORDER BY num"):
    print(json.dumps({"object": "message " + mid, "names": {"id": mid}, "marker": markers[mid]}))
