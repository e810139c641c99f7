"""Times w3lib.url.canonicalize_url: `rivals.py FILE ROUNDS`. Prints as rust/src/main.rs does."""

import sys
import time

from w3lib.url import canonicalize_url

urls = open(sys.argv[1], encoding="utf-8", errors="surrogateescape").read().splitlines()
times = []
for _ in range(int(sys.argv[2])):
    refused = 0
    start = time.process_time_ns()
    for url in urls:
        try:
            canonicalize_url(url)
        except ValueError:
            refused += 1
    times.append(time.process_time_ns() - start)
times.sort()
print("Python w3lib: canonicalize_url", times[len(times) // 2] / len(urls), refused, sep="\t")
