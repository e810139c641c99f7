"""Kills, and crawls that continue after them."""

from __future__ import annotations

import unittest

from site_on_loopback import Site
from support import CrawlCase

PAGES = 150
ALL = {f"/p/{n}" for n in range(PAGES)}


class ResumeTest(CrawlCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = Site(PAGES, delay=0.02)
        self.addCleanup(self.site.close)

    def test_spider_killed(self) -> None:
        """Each page is in the access log once, but those that were being fetched, also under a new name of the spider."""
        self.site.hold_after = 40
        # Its leases end some seconds after it; a disk that takes seconds must not end one before.
        first = self.crawl("tree", self.site.url, FIRSTSEEN_LEASE=10, USER_AGENT="first")
        self.site.wait_for(41)
        first.kill()
        self.site.release()
        unsettled = {path for path in ALL if self.daemon.state("tree", self.site.url + path) != "done"}
        second = self.crawl("renamed", self.site.url, FIRSTSEEN_SPIDER="tree", USER_AGENT="second").wait()
        before, after = self.site.fetched("first"), self.site.fetched("second")
        self.assertLess(len(before), PAGES)
        self.assertIn("Resuming crawl 'tree'", second.log())
        self.assertEqual((before | after).keys(), ALL)
        self.assertEqual({*before.values(), *after.values()}, {1})
        twice = before.keys() & after.keys()
        self.assertLessEqual(twice, unsettled)
        print(f"killed after {len(before)} of {PAGES} pages; fetched twice: {sorted(twice)}")
        self.assertEqual((self.daemon.stats("tree")["held"], self.daemon.stats("tree")["completed"]), (0, PAGES))

    def test_daemon_killed(self) -> None:
        """The spider waits for the daemon and continues; nothing is fetched twice."""
        crawl = self.crawl("tree", self.site.url)
        self.site.wait_for(40)
        self.daemon.kill()
        self.daemon.start()
        crawl.wait()
        self.assert_each_page_once(self.site.fetched(), PAGES)
        self.assertEqual(len(crawl.items()), PAGES)

    def test_two_processes_share_a_crawl(self) -> None:
        crawls = [self.crawl("tree", self.site.url, CONCURRENT_REQUESTS=2) for _ in range(2)]
        items = [len(crawl.wait().items()) for crawl in crawls]
        self.assert_each_page_once(self.site.fetched(), PAGES)
        self.assertEqual(sum(items), PAGES)
        print(f"two processes shared {PAGES} pages: {items}")

    def test_interrupted(self) -> None:
        """Ctrl-C releases the requests that were leased ahead, so that the next run starts immediately."""
        first = self.crawl("tree", self.site.url, CLOSESPIDER_PAGECOUNT=40, FIRSTSEEN_LEASE=3600).wait()
        self.assertIn("closespider_pagecount", first.log())
        self.assertEqual(self.daemon.stats("tree")["in_flight"], 0)
        self.crawl("tree", self.site.url).wait()
        self.assert_each_page_once(self.site.fetched(), PAGES)


if __name__ == "__main__":
    unittest.main()
