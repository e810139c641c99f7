"""Makes the articles of standard input the source of an ikiwiki, as a stream for git fast-import: each revision is a commit."""
import datetime
import json
import sys

articles = json.load(sys.stdin)


def name(a):
    if a["id"] == 0:
        return "index"
    place = "posts" if a["id"] % 2 else a["category"].lower()
    return f"{place}/{a['title'].lower().replace(' ', '_')}"


def data(text):
    raw = text.encode()
    sys.stdout.write(f"data {len(raw)}\n{text}\n")


def commit(date, author, files):
    at = int(datetime.datetime.fromisoformat(date[:19]).replace(tzinfo=datetime.timezone.utc).timestamp())
    print("commit refs/heads/master")
    for who in "author", "committer":
        print(f"{who} {author} <{author.lower()}@lab.example> {at} +0000")
    data("seeded")
    for path, text in files.items():
        print("M 100644 inline", path)
        data(text)


commit(articles[0]["date"], "Writer1", {
    "posts.mdwn": '[[!inline pages="page(posts/*) and !*/Discussion" show="10" actions=yes rootpage="posts"]]\n\n[[All_posts|archives]]\n',
    "archives.mdwn": '[[!map pages="page(posts/*) and !*/Discussion"]]\n\n[[!calendar type="year" year="2025" pages="page(posts/*)"]]\n',
    "tags.mdwn": '[[!pagestats pages="tags/*" among="posts/*"]]\n',
    "sidebar.mdwn": '[[posts]] [[archives]] [[tags]] [[recentchanges]]\n',
})
for r, a in sorted(((r, a) for a in articles for r in a["revisions"]), key=lambda ra: (ra[0]["date"], ra[1]["id"])):
    first, *rest = r["paragraphs"]
    text = f"[[!meta title=\"{a['title']}\"]]\n\n{a['marker']} {first}\n\n## One\n\n" + "\n\n".join(rest)
    text += "\n\nSee also: " + ", ".join(f"[[{articles[l]['title']}|/{name(articles[l])}]]" for l in a["links"]) + ".\n"
    if a["id"] % 2:
        text += f"\n[[!tag {a['category'].lower()} {a['author'].lower()}]]\n"
    if a["id"] % 9 == 2:
        text += f"\nAn idea: [[/{name(a)}/plans]].\n"
    commit(r["date"], a["author"], {name(a) + ".mdwn": text})
