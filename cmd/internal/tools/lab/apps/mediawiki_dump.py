"""Makes the articles of standard input a dump that MediaWiki imports; with "front", prints the text of the front page,
which the installation has written already.
"""
import json
import sys
from xml.sax.saxutils import escape

articles = json.load(sys.stdin)
front = sys.argv[1:] == ["front"]
if not front:
    print('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">')


def page(title, ns, revisions, redirect=""):
    print(f"<page><title>{escape(title)}</title><ns>{ns}</ns>")
    if redirect:
        print(f'<redirect title="{escape(redirect)}"/>')
    for date, author, text in revisions:
        date = date[:19] + "Z"
        print(
            f"<revision><timestamp>{date}</timestamp><contributor><username>{author}</username></contributor>"
            f'<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{escape(text)}</text></revision>'
        )
    print("</page>")


def title(i):
    return articles[i]["title"] if i else "Main Page"


for a in articles:
    links = [articles[l]["alias"] or title(l) for l in a["links"]]
    tail = "\n\nSee also: " + ", ".join(f"[[{l}]]" for l in links) + f".\n\n[[Category:{a['category']}]]"
    revisions = []
    for r in a["revisions"]:
        head, *rest = r["paragraphs"]
        text = f"{a['marker']} {head}\n\n== One ==\n" + "\n\n".join(rest) + tail
        revisions.append((r["date"], a["author"], text))
    if front:
        sys.exit(print(revisions[-1][2]))
    if a["id"]:
        page(title(a["id"]), 0, revisions)
    if a["alias"]:
        page(a["alias"], 0, [(a["date"], a["author"], f"#REDIRECT [[{title(a['id'])}]]")], title(a["id"]))
    if a["id"] % 10 == 3:
        page("Talk:" + title(a["id"]), 1, [(a["date"], a["author"], f"talk{a['marker']} {a['revisions'][0]['paragraphs'][0]}")])
for c in sorted({a["category"] for a in articles}):
    page("Category:" + c, 14, [(articles[0]["date"], "Writer1", f"category{c} Pages on {c}.")])
print("</mediawiki>")
