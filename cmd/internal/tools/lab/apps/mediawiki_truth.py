"""Prints the pages of a MediaWiki by its database, a JSON object a line."""
import json
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
namespaces = {0: "", 1: "Talk:", 2: "User:", 3: "User_talk:", 4: "Lab:", 14: "Category:"}
redirects = dict(
    db.execute("SELECT rd_from, page_id FROM redirect JOIN page ON page_namespace = rd_namespace AND page_title = rd_title")
)
for page, ns, title, latest, redirect in db.execute(
    "SELECT page_id, page_namespace, page_title, page_latest, page_is_redirect FROM page ORDER BY page_id"
):
    title = title.decode() if isinstance(title, bytes) else title
    names = {"title": namespaces[ns] + title, "curid": str(page)}
    if not redirect:  # a revision of a redirect shows the redirect, not its target
        names["oldid"] = str(latest)
    text = db.execute(
        "SELECT old_text FROM slots JOIN content ON content_id = slot_content_id"
        " JOIN text ON old_id = CAST(SUBSTR(content_address, 4) AS INTEGER) WHERE slot_revision_id = ?", [latest]
    ).fetchone()[0]
    text = text.decode() if isinstance(text, bytes) else text
    marker = "" if redirect else text.split()[0]
    print(json.dumps({"object": f"page {redirects[page] if redirect else page}", "names": names, "marker": marker}))
