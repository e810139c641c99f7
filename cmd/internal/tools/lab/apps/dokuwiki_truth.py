"""Prints the pages of a DokuWiki by its files, a JSON object a line."""
import json
import pathlib
import sys

pages = pathlib.Path(sys.argv[1]) / "pages"
for file in sorted(pages.rglob("*.txt")):
    name = ":".join(file.relative_to(pages).with_suffix("").parts)
    text = file.read_text()
    marker = next((w for w in text.split() if w.startswith("mark")), "")
    print(json.dumps({"object": "page " + name, "names": {"id": name}, "marker": marker}))
