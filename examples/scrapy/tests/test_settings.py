"""The filter alone, politeness, and what goes wrong."""

from __future__ import annotations

import json
import os
import time
import unittest
import urllib.request

from site_on_loopback import Site
from support import PATIENCE, Crawl, CrawlCase, await_that, free_port

PAGES = 40
ALONE = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "firstseen_scrapy.DupeFilter"}


class SettingsTest(CrawlCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = Site(PAGES)
        self.addCleanup(self.site.close)

    def test_filter_alone(self) -> None:
        """Scrapy's own scheduler with our filter: what one run has seen the next one skips."""
        first = self.crawl("tree", self.site.url, **ALONE).wait()
        fetched = self.site.fetched()
        self.assertEqual(fetched.pop("/p/0"), 2)  # a start request, which Scrapy never filters, and a link to it
        self.assertEqual((set(fetched.values()), len(fetched)), ({1}, PAGES - 1))
        self.assertIn("'dupefilter/filtered'", first.log())
        self.crawl("tree", self.site.url, **ALONE).wait()
        self.assertEqual(sum(self.site.fetched().values()), PAGES + 2)

    def test_download_delay_is_for_all_processes(self) -> None:
        polite = {"DOWNLOAD_DELAY": 0.2, "CLOSESPIDER_PAGECOUNT": 8, "DOWNLOAD_DELAY_JITTER": 0}
        crawls = [self.crawl("tree", self.site.url, **polite) for _ in range(2)]
        # A lease may wait in its process before it is fetched. So counted is from before the first
        # page was handed out: no page can arrive before its turn from there, however late others are.
        first = await_that(lambda: self.daemon.state("tree", f"{self.site.url}/p/0") != "")
        for crawl in crawls:
            crawl.wait()
        times = [access.time for access in self.site.log]
        self.assertGreater(len(times), 8)
        self.assertGreater((times[-1] - first) / (len(times) - 1), 0.19)

    def test_archived_pages_are_skipped(self) -> None:
        """What is seen by other means, such as an import, is not fetched."""
        lines = "".join(json.dumps({"url": f"{self.site.url}/p/{n}", "crawl": "tree"}) + "\n" for n in range(1, 4))
        urllib.request.urlopen(self.daemon.url + "/v1/seen", lines.encode(), timeout=PATIENCE).read()
        self.crawl("tree", self.site.url).wait()
        self.assertEqual(set(self.site.fetched()), {"/p/0"})

    def test_nobody_there(self) -> None:
        for settings in ({}, ALONE):
            crawl = Crawl(self, "tree", self.site.url, FIRSTSEEN_URL=f"http://127.0.0.1:{free_port(self)}", **settings).wait()
            self.assertIn("is `firstseen serve` running there", crawl.log())
            self.assertIn("'finish_reason': 'firstseen_unavailable'", crawl.log())
            self.assertEqual((self.site.log, crawl.status(), crawl.log().count(" ERROR: "), crawl.log().count("Traceback")), ([], 1, 1, 0))

    def test_daemon_gone_for_good(self) -> None:
        """The crawl ends by itself, and the next run continues."""
        self.site.hold_after = 10
        crawl = self.crawl("tree", self.site.url, FIRSTSEEN_GIVE_UP=1, FIRSTSEEN_LEASE=3)
        self.site.wait_for(11)
        self.daemon.kill()
        self.site.release()
        crawl.wait()
        self.assertIn("'finish_reason': 'firstseen_unavailable'", crawl.log())
        self.assertEqual(crawl.status(), 1)
        self.daemon.start()
        self.crawl("tree", self.site.url).wait()
        self.assertEqual(set(self.site.fetched()), {f"/p/{n}" for n in range(PAGES)})


class AwaitTest(unittest.TestCase):
    def test_time_is_of_a_false_answer(self) -> None:
        answers, begun = iter([False, False, True]), time.monotonic()
        self.assertGreaterEqual(await_that(lambda: next(answers)), begun)

    def test_so_from_the_start(self) -> None:
        """Nobody knows since when: a time that was made up would let any delay pass."""
        with self.assertRaises(AssertionError):
            await_that(lambda: True)


class TokenTest(CrawlCase):
    def flags(self) -> list[str]:
        tokens = os.path.join(self.directory, "tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("write write-0123456789abcdef\n")
        return ["--tokens", tokens]

    def test_tokens(self) -> None:
        site = Site(3)
        self.addCleanup(site.close)
        self.assertIn("answered 401", self.crawl("tree", site.url).wait().log())
        self.crawl("tree", site.url, FIRSTSEEN_TOKEN="write-0123456789abcdef").wait()
        self.assertEqual(sum(site.fetched().values()), 3)


if __name__ == "__main__":
    unittest.main()
