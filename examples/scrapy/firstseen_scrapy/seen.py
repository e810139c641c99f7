"""Which of some URLs are in a requests.seen of Scrapy.

The file holds SHA-1 fingerprints, which can't be turned back into URLs. But URLs that
are known from elsewhere (a log, a feed, a sitemap, an index) can be asked for:

    python -m firstseen_scrapy.seen requests.seen < urls.txt | firstseen import --db crawl.db -

Only plain GET requests with Scrapy's own fingerprinter are found.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from scrapy import Request
from scrapy.utils.request import fingerprint

_HEX = re.compile(rb"[0-9a-f]{40}\r?\n?")


def read(data: bytes) -> set[bytes]:
    """The fingerprints of a requests.seen: hexadecimal lines, as older versions wrote, or
    digests each after its length in two bytes."""
    if _HEX.match(data):
        return {bytes.fromhex(line.decode()) for line in data.split() if len(line) == 40}
    fingerprints, at = set(), 0
    while at + 2 <= len(data):
        size = int.from_bytes(data[at : at + 2], "big")
        if len(digest := data[at + 2 : at + 2 + size]) == size:
            fingerprints.add(digest)
        at += 2 + size
    return fingerprints


def known(fingerprints: set[bytes], urls: Iterable[str]) -> Iterator[str]:
    """The URLs whose fingerprints are there; these are then taken out of the set."""
    for url in urls:
        try:
            found = fingerprint(Request(url))
        except ValueError:  # no URL
            continue
        if found in fingerprints:
            fingerprints.discard(found)
            yield url


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m firstseen_scrapy.seen requests.seen < urls", file=sys.stderr)
        return 2
    fingerprints = read(Path(sys.argv[1]).read_bytes())
    total = len(fingerprints)
    for url in known(fingerprints, (line.strip() for line in sys.stdin)):
        print(url)
    print(f"{total - len(fingerprints)} of {total} fingerprints have a URL; {len(fingerprints)} stay unknown", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
