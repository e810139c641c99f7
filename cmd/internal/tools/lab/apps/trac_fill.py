"""Fills a Trac environment with the articles of standard input, through its own API."""
import datetime
import json
import sys

from trac.env import open_environment
from trac.ticket.model import Component, Milestone, Ticket, Version
from trac.util.datefmt import utc
from trac.wiki.model import WikiPage

env = open_environment(sys.argv[1])
articles = json.load(sys.stdin)
tickets = [a for a in articles if a["id"] % 2]
number = {a["id"]: n + 1 for n, a in enumerate(tickets)}


def when(text):
    return datetime.datetime.fromisoformat(text[:19]).replace(tzinfo=utc)


def wiki_name(a):
    return "Articles/" + a["title"].replace(" ", "")


def reference(i):
    return f"#{number[i]}" if i in number else f"[wiki:{wiki_name(articles[i])}]"


def make(kind, name, **fields):
    it = kind(env)
    it.name = name
    for field, value in fields.items():
        setattr(it, field, value)
    it.insert()


milestones = []
for c in sorted({a["category"] for a in articles}):
    make(Component, c, owner="admin")
    milestones.append("Goal " + c)
    make(Milestone, milestones[-1], description=f"goal{c}x")
for a in articles:
    see = "\n\nSee " + ", ".join(reference(i) for i in a["links"]) + "."
    first, *later = a["revisions"]
    if a["id"] in number:
        t = Ticket(env)
        t.populate({
            "summary": a["title"], "reporter": a["author"], "status": "new", "owner": "Writer1", "type": "defect", "priority": "major",
            "component": a["category"], "milestone": milestones[a["id"] % len(milestones)], "keywords": a["category"].lower(),
            "description": a["marker"] + " " + "\n\n".join(first["paragraphs"]) + see,
        })
        t.insert(when=when(a["date"]))
        for r in later:
            t["status"] = "closed" if a["id"] % 3 else "accepted"
            t.save_changes(a["author"], r["paragraphs"][-1], when=when(r["date"]))
    else:
        p = WikiPage(env, wiki_name(a))
        for r in a["revisions"]:
            p.text = f"= {a['title']} =\n{a['marker']} " + "\n\n".join(r["paragraphs"]) + see
            p.save(a["author"], "", t=when(r["date"]))
start = WikiPage(env, "WikiStart")
start.text += "\n\n[wiki:" + wiki_name(articles[0]) + "]"
start.save("admin", "")
