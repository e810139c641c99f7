"""The inputs the oracles are asked: those of the crawl vectors, the edge cases of
edge.txt, and mutations of both made here from a fixed seed. Bytes, without repeats."""

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent
VECTORS = HERE.parent / "testdata" / "vectors"

PIECES = [
    "%41", "%61", "%2F", "%2f", "%3b", "%25", "%", "%2", "%zz", "%C3%A9", "%e9", "é", "ß", "日本", " ", "\t", "\n", "+", "%20",
    "/", "//", "/./", "/../", "/..", "/.", ";", ";a=b", "?", "#", "&", "&&", "=", "a=1", "b", "[", "]", "|", "'", '"', "<", "\\",
    "@", ":", ":80", ":080", ":443", "u@", "u:p@", "www.", "WWW2.", "%00", "\x00", "\x7f", "ﬀ", "。", "İ", "ς", "א", "xn--a",
    "jsessionid=0123456789abcdef0123456789ABCDEF", ";jsessionid=0123456789abcdef0123456789abcdef", "PHPSESSID=0123456789abcdef0123456789abcdef",
    "sid=0123456789abcdef0123456789abcdef", "ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX", "cfid=1234&cftoken=abcd1234", "utm_source=x",
    "(S(abcdefghijklmnopqrstuvwx))/", "a.aspx", "0x7f.1", "010.8", "1.2.3.4", "...", "A", "Z", "~", "*", "$", "!", "^", "`", "{", "}",
]


def texts():
    for line in open(VECTORS / "crawl_shared.jsonl", encoding="ascii"):
        yield json.loads(line)["input"]
    for line in open(HERE / "edge.txt", encoding="utf-8"):
        if line.strip() and not line.startswith("# "):
            yield json.loads('"' + line.rstrip("\n") + '"')


def mutate(rng, text):
    for _ in range(rng.randint(1, 4)):
        i = rng.randint(0, len(text))
        j = i + rng.choice([0, 0, 0, 1, 3])
        text = text[:i] + rng.choice(PIECES) + text[j:]
    return text


def inputs(mutations, seed=20261121):
    """All texts and so many mutations, as UTF-8 bytes; one mutation in 20 gets a byte that is none."""
    rng = random.Random(seed)
    base = [t for t in texts() if not any(0xD800 <= ord(c) < 0xE000 for c in t)]
    short = [t for t in base if len(t) < 120]
    out = dict.fromkeys(t.encode() for t in base)
    while mutations:
        b = mutate(rng, rng.choice(short)).encode()
        if rng.random() < 0.05:
            i = rng.randint(0, len(b))
            b = b[:i] + bytes([rng.randint(0x80, 0xFF)]) + b[i:]
        if b not in out:
            out[b] = None
            mutations -= 1
    return list(out)
