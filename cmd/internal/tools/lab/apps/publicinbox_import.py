"""Makes the articles of standard input messages of a list, as a stream for git fast-import: each commit of a public-inbox
of version 2 is a message, the file "m". Each article begins a thread. Its other paragraphs, and a mention of each article
that it links to, are replies. Argument: the host of the archive.
"""
import datetime
import email.utils
import json
import random
import sys

articles = json.load(sys.stdin)
rng = random.Random(1)


def message_id(a, n):
    at = datetime.datetime.fromisoformat(a["date"][:19])
    return f"{at:%Y%m%d%H%M%S}.{a['id'] * 100 + n}-{n}-{a['author'].lower()}@lab.example"


messages = []
for a in articles:
    first, *later = a["revisions"]
    texts = first["paragraphs"] + [r["paragraphs"][-1] for r in later]
    texts += [f"Compare http://{sys.argv[1]}/list/{message_id(articles[l], 0)}/ on {articles[l]['title']}." for l in a["links"]]
    at = datetime.datetime.fromisoformat(a["date"][:19]).replace(tzinfo=datetime.timezone.utc)
    thread = []  # of each message its number and those it answers, and its text
    for n, text in enumerate(texts):
        parent = rng.choice(thread) if thread else None
        writer = a["author"] if n == 0 else f"Writer{rng.randrange(1, 9)}"
        refs = parent["refs"] + [parent["id"]] if parent else []
        quote = f"On a day in 2025, {parent['writer']} wrote:\n> {parent['text'][:60]}\n\n" if parent else ""
        m = {"id": message_id(a, n), "refs": refs, "writer": writer, "text": text}
        thread.append(m)
        at += datetime.timedelta(minutes=rng.randrange(3, 2000))
        head = {
            "From": f"{writer} <{writer.lower()}@lab.example>", "To": "list@lab.example", "Date": email.utils.format_datetime(at),
            "Message-ID": f"<{m['id']}>", "Subject": ("Re: " if refs else "") + a["title"],
        }
        if refs:
            head |= {"In-Reply-To": f"<{refs[-1]}>", "References": " ".join(f"<{r}>" for r in refs)}
        text = "".join(f"{k}: {v}\n" for k, v in head.items()) + f"\n{quote}{text}\n\nmail{a['id']:05d}n{n:02d}x\n"
        messages.append((at, head, text))


def data(text):
    raw = text.encode()
    sys.stdout.write(f"data {len(raw)}\n{text}\n")


for at, head, text in sorted(messages, key=lambda m: m[0]):
    print("commit refs/heads/master")
    for who in "author", "committer":
        print(who, head["From"], int(at.timestamp()), "+0000")
    data(head["Subject"])
    print("M 100644 inline m")
    data(text)
