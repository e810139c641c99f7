"""Prints the products, variants, reviews and offers of a shop by its database, a JSON object a line."""
import json
import re
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])


def mark(text):
    found = re.search(r"mark\w+", text or "")
    return found.group() if found else ""


for number, parent, text in db.execute("SELECT id, parent_id, description FROM catalogue_product WHERE is_public ORDER BY id"):
    print(json.dumps({"object": f"{'variant' if parent else 'product'} {number}", "names": {"product": str(number)}, "marker": mark(text)}))
for number, product, title in db.execute("SELECT id, product_id, title FROM reviews_productreview WHERE status = 1 ORDER BY id"):
    print(json.dumps({"object": f"review {number}", "names": {"review": f"{product} {number}"}, "marker": mark(title)}))
for name, slug, text in db.execute("SELECT name, slug, description FROM offer_conditionaloffer ORDER BY id"):
    print(json.dumps({"object": "offer " + name, "names": {"offer": slug}, "marker": mark(text)}))
