"""What becomes of pages: items on disk, retries, redirects, failures, and spiders that meet."""

from __future__ import annotations

import json
import unittest
import urllib.request

from site_on_loopback import Access, Site
from support import PATIENCE, CrawlCase

PAGES = 120


class WeekSite(Site):
    """/p/0 links to pages that are busy, moved, broken or gone; /index lists pages, more each day."""

    articles = 30

    def page(self, access: Access) -> tuple[int, dict[str, str], str]:
        times = self.fetched()[access.path]
        match access.path.split("/")[1:]:
            case ["p", "0"]:
                return 200, {}, "".join(f"<a href='/{p}'>x</a>" for p in ("busy", "target", "gone", "broken", "wall", "a/1", "odd"))
            case ["odd"]:
                return 200, {}, "<a href='http://[/'>for which the callback raises an error</a>"
            case ["busy"] if times == 1:
                return 503, {}, "not now"
            case ["busy"]:
                return 302, {"Location": "/target"}, ""
            case ["broken"]:
                return 500, {}, ""
            case ["gone"]:
                return 404, {}, ""
            case ["wall"] if "seen=1" not in access.headers.get("Cookie", ""):
                return 302, {"Location": "/cookie"}, ""
            case ["cookie"]:
                return 302, {"Location": "/wall", "Set-Cookie": "seen=1"}, ""
            case ["index", *_]:
                n = int(access.path.rpartition("/")[2].removeprefix("index") or 0)
                links = [f"<a class=page href='/a/{k}?utm_source=index'>x</a>" for k in range(10 * n, min(10 * n + 10, self.articles))]
                return 200, {}, "".join(links) + (f"<a class=next href='/index/{n + 1}'>x</a>" if 10 * n + 10 < self.articles else "")
        return 200, {}, "here"


class KilledTest(CrawlCase):
    def test_items_of_settled_pages_are_on_disk(self) -> None:
        """Killed at any moment, no page that the daemon knows as done lacks its item."""
        site = Site(PAGES)
        self.addCleanup(site.close)
        site.hold_after = 60
        first = self.crawl("tree", site.url)
        site.wait_for(61)
        first.kill()
        done = {f"/p/{n}" for n in range(PAGES) if self.daemon.state("tree", f"{site.url}/p/{n}") == "done"}
        self.assertGreater(len(done), 20)
        items = {i["url"].removeprefix(site.url) for i in first.items()}
        self.assertEqual(done - items, set())


class BusySite(Site):
    """The tenth request comes too early."""

    def page(self, access: Access) -> tuple[int, dict[str, str], str]:
        return (429, {"Retry-After": "2"}, "") if self.log.index(access) == 9 else super().page(access)


class BusyTest(CrawlCase):
    def test_retry_after(self) -> None:
        """A host is asked again when it says so, for whatever page, and none is lost."""
        site = BusySite(30)
        self.addCleanup(site.close)
        self.crawl("tree", site.url, CONCURRENT_REQUESTS=1, FIRSTSEEN_PREFETCH=8, FIRSTSEEN_AT_RISK=8).wait()
        self.assertGreaterEqual(site.log[10].time - site.log[9].time, 2)
        self.assert_each_page_once(site.fetched(), 30, {site.log[9].path})


class LifeTest(CrawlCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = WeekSite(0)
        self.addCleanup(self.site.close)

    def test_retries_redirects_failures(self) -> None:
        """A redirect of a retry is filtered; a retry is no new URL; failures can be told from pages."""
        crawl = self.crawl("tree", self.site.url, RETRY_TIMES=2).wait()
        self.assertEqual(self.site.fetched(), {
            "/p/0": 1, "/busy": 2, "/target": 1, "/gone": 1, "/broken": 3, "/wall": 2, "/cookie": 1, "/a/1": 1, "/odd": 1})  # fmt: skip
        self.assertEqual({p: self.daemon.state("tree", self.site.url + p) for p in ("/busy", "/target", "/gone", "/broken", "/odd")},
                         {"/busy": "done", "/target": "done", "/gone": "dropped", "/broken": "dropped", "/odd": "dropped"})  # fmt: skip
        stats = self.daemon.stats("tree")
        self.assertEqual((stats["held"], stats["dropped"]), (0, 3))
        self.assertIn(f"Crawl 'tree' is finished: {stats['completed']} requests done, 3 dropped as failed", crawl.log())
        # Requeued by an operator, a page that failed has all attempts again.
        self.post(f'{{"url":"{self.site.url}/broken","crawl":"tree","force":true}}')
        self.crawl("tree", self.site.url, RETRY_TIMES=2).wait()
        self.assertEqual(self.site.fetched()["/broken"], 6)

    def test_a_crawl_of_another_spider(self) -> None:
        """It is refused; what got into it all the same is never dropped."""
        self.crawl("tree", self.site.url).wait()
        before = self.site.fetched()
        for spider in ("odd", "daily"):
            log = self.crawl(spider, self.site.url, FIRSTSEEN_CRAWL="tree").wait().log()
            self.assertIn(f"crawl 'tree' is of the spider 'tree', not of '{spider}'", log)
        self.assertEqual(self.site.fetched(), before)
        foreign = {"url": self.site.url + "/foreign", "crawl": "tree", "metadata": {"scrapy": ['{"callback":"parse"}'], "spider": ["odd"]}}
        gone = {"url": self.site.url + "/callback", "crawl": "tree", "metadata": {"scrapy": ['{"callback":"renamed"}'], "spider": ["tree"]}}
        own = {"url": self.site.url + "/own", "crawl": "tree"}
        self.post(*map(json.dumps, (foreign, gone, own)))
        log = self.crawl("tree", self.site.url).wait().log()
        self.assertIn("is not finished (finished): 2 requests wait", log)
        self.assertEqual(set(self.site.fetched()) - set(before), {"/own"})
        self.assertEqual((self.daemon.stats("tree")["held"], self.daemon.stats("tree")["in_flight"]), (2, 0))

    def test_only_new_pages_each_day(self) -> None:
        """The second day fetches the index and what is new in it."""
        first = self.crawl("daily", self.site.url).wait()
        self.assertEqual((len(first.items()), sum(self.site.fetched().values())), (30, 3 + 30))
        self.site.articles = 45
        second = self.crawl("daily", self.site.url).wait()
        self.assertEqual(sorted(i["url"].split("/")[-1] for i in second.items()), [f"{n}?utm_source=index" for n in range(30, 45)])
        self.assertEqual(sum(self.site.fetched().values()), 33 + 5 + 15)

    def test_two_spiders_share_a_seen_set(self) -> None:
        """With the filter alone, each page goes to the spider that finds it first."""
        shared = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "firstseen_scrapy.DupeFilter", "FIRSTSEEN_CRAWL": "site"}
        crawls = [self.crawl(spider, self.site.url, **shared) for spider in ("daily", "weekly")]
        items = [crawl.wait().items() for crawl in crawls]
        pages = {p: n for p, n in self.site.fetched().items() if p.startswith("/a/")}
        self.assertEqual((len(pages), set(pages.values())), (30, {1}))
        self.assertEqual(sum(map(len, items)), 30)

    def post(self, *lines: str) -> None:
        body = "".join(line + "\n" for line in lines).encode()
        urllib.request.urlopen(self.daemon.url + "/v1/urls", body, timeout=PATIENCE).read()


if __name__ == "__main__":
    unittest.main()
