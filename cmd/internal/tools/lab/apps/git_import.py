"""Makes the articles of standard input a stream for git fast-import."""
import calendar
import json
import sys
import time

articles = json.load(sys.stdin)
commits = sorted(
    (r["date"], a["id"], k) for a in articles for k, r in enumerate(a["revisions"])
)
out = sys.stdout


def data(text):
    raw = text.encode()
    out.write(f"data {len(raw)}\n{text}\n")


for n, (date, i, k) in enumerate(commits):
    a = articles[i]
    at = calendar.timegm(time.strptime(date[:19], "%Y-%m-%dT%H:%M:%S"))
    path = f"{a['category'].lower()}/{a['title'].lower().replace(' ', '-')}.txt"
    if n == len(commits) - 9:
        out.write(f"reset refs/heads/next\nfrom refs/heads/master\n\n")
    branch = "next" if n >= len(commits) - 9 and n % 3 == 0 else "master"
    out.write(f"commit refs/heads/{branch}\nauthor {a['author']} <{a['author'].lower()}@lab.example> {at} +0000\n")
    out.write(f"committer {a['author']} <{a['author'].lower()}@lab.example> {at} +0000\n")
    data(f"{'Add' if k == 0 else 'Revise'} {a['title']}\n\ncommit{n:05d}x {a['revisions'][k]['paragraphs'][0][:60]}")
    out.write(f"M 100644 inline {path}\n")
    data(f"{a['marker']}\n\n" + "\n\n".join(a["revisions"][k]["paragraphs"]))
    if n % 60 == 59 and branch == "master":
        out.write(f"tag v0.{n // 60}\nfrom refs/heads/master\ntagger {a['author']} <{a['author'].lower()}@lab.example> {at} +0000\n")
        data(f"version{n // 60}x\n")
