"""Writes seeded articles as JSON: seed.py N SEED >articles.json

Each article has a title, a marker (a word that no other article contains), a category, an author, a
date, paragraphs, links to other articles, and one or more revisions. Article 0 is the front page. Every
article can be reached from it by links, and half of all links are random, so that the graph has cycles.
"""
import datetime
import json
import random
import sys

SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru sa se si so su ta te ti to tu".split()


def words(rng, n):
    return ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(n)]


def paragraph(rng, n=40):
    return " ".join(words(rng, n)).capitalize() + "."


def articles(n, seed):
    rng = random.Random(seed)
    categories = [w.capitalize() + "ia" for w in words(rng, max(4, n // 25))]
    start = datetime.datetime(2025, 1, 1)
    titles = set()
    for i in range(n):
        title = " ".join(w.capitalize() for w in words(rng, 2))
        while title in titles:
            title = " ".join(w.capitalize() for w in words(rng, 3))
        titles.add(title)
        links = [c for c in range(4 * i + 1, 4 * i + 5) if c < n] + [rng.randrange(n) for _ in range(rng.randint(1, 4))]
        texts = [[paragraph(rng) for _ in range(rng.randint(2, 5))]]
        while len(texts) < 4 and rng.random() < 0.35:
            texts.append(texts[-1][:-1] + [paragraph(rng)])
        date = start + datetime.timedelta(days=360 * i / n, minutes=rng.randrange(600))
        yield {
            "id": i,
            "title": title,
            "marker": f"mark{i:05d}x",
            "category": rng.choice(categories),
            "author": f"Writer{rng.randrange(1, 9)}",
            "date": date.isoformat() + "Z",
            "links": links,
            "alias": f"Also {title}" if rng.random() < 0.08 else "",
            "revisions": [
                {"date": (date + datetime.timedelta(hours=7 * k)).isoformat() + "Z", "paragraphs": t}
                for k, t in enumerate(texts)
            ],
        }


if __name__ == "__main__":
    json.dump(list(articles(int(sys.argv[1]), int(sys.argv[2]))), sys.stdout, indent=0)
