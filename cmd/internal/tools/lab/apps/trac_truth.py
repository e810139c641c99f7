"""Prints the tickets, wiki pages and milestones of a Trac by its database, a JSON object a line."""
import json
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
for number, text in db.execute("SELECT id, description FROM ticket ORDER BY id"):
    print(json.dumps({"object": f"ticket {number}", "names": {"ticket": str(number)}, "marker": text.split()[0]}))
for name, version, text in db.execute("SELECT name, MAX(version), text FROM wiki GROUP BY name ORDER BY name"):
    marker = next((w for w in text.split() if w.startswith("mark0")), "")
    print(json.dumps({"object": "wiki " + name, "names": {"wiki": name, "version": name + " " + str(version)}, "marker": marker}))
for name, text in db.execute("SELECT name, description FROM milestone ORDER BY name"):
    print(json.dumps({"object": "milestone " + name, "names": {"milestone": name}, "marker": text if text and text.startswith("goal") else ""}))
