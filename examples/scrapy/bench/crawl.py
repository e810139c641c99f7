"""One crawl of the benchmark: PAGES LINKS SETTINGS. Tells its cost as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse


class Handler:
    """Answers every request at once."""

    lazy = False

    def __init__(self, crawler=None):
        pass

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    async def download_request(self, request):
        return HtmlResponse(request.url, request=request)

    async def close(self):
        pass


class BenchSpider(scrapy.Spider):
    """Page n leads to pages 2n+1 and 2n+2, and to some that were found before."""

    name = "bench"
    pages, links = int(sys.argv[1]), int(sys.argv[2])
    fetched = 0
    start_urls = ["http://bench.example/p/0"]

    def parse(self, response):
        BenchSpider.fetched += 1
        n = int(response.url.rsplit("/", 1)[1])
        found = [k for k in (2 * n + 1, 2 * n + 2) if k < self.pages]
        known = (n * 7919 + k * 104729 for k in range(self.links))
        found += [k % (n + 1) for k in known][: self.links - len(found)]
        for k in found:
            yield scrapy.Request(f"http://bench.example/p/{k}")


settings = {
    "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False, "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_HANDLERS": {"http": "__main__.Handler"}, "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    **json.loads(sys.argv[3]),
}  # fmt: skip
process = CrawlerProcess(settings)
process.crawl(BenchSpider)
wall, cpu = time.monotonic(), time.process_time()
process.start()
print(json.dumps({
    "wall": time.monotonic() - wall, "cpu": time.process_time() - cpu, "fetched": BenchSpider.fetched,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))  # fmt: skip
