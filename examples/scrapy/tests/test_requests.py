"""Every kind of request, through the daemon and back."""

from __future__ import annotations

import json
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from scrapy import FormRequest, Request, Spider
from scrapy.dupefilters import RFPDupeFilter
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from site_on_loopback import Access, Site
from support import PATIENCE, CrawlCase, await_that

from firstseen_scrapy import request as requests
from firstseen_scrapy import seen
from firstseen_scrapy.client import Refused
from firstseen_scrapy.scheduler import Scheduler


class OddSite(Site):
    """Pages that redirect to themselves until a cookie is set, or fail at first."""

    def page(self, access: Access) -> tuple[int, dict[str, str], str]:
        times = self.fetched(access.headers["User-Agent"])[access.path]
        match access.path:
            case "/start":
                return 302, {"Location": "/wall"}, ""
            case "/wall" if "seen=1" not in access.headers.get("Cookie", ""):
                return 302, {"Location": "/wall", "Set-Cookie": "seen=1"}, ""
            case "/object" if "moved=1" not in access.headers.get("Cookie", ""):
                return 302, {"Location": "/object", "Set-Cookie": "moved=1"}, ""
            case "/json" | "/lambda" if times == 1:
                return 503, {}, "not now"
            case "/login" if access.method == "POST":
                return 200, {"Set-Cookie": "member=1"}, "welcome"
            case "/gone":
                return 404, {}, "gone"
        return 200, {}, "here"


class RequestsTest(CrawlCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = OddSite(0)
        self.addCleanup(self.site.close)

    def test_everything_survives(self) -> None:
        """Killed before the requests are fetched, another process fetches them as they were, and a URL that curl put there."""
        self.site.hold_after = 3  # start, and the wall twice
        first = self.crawl("odd", self.site.url, FIRSTSEEN_LEASE=1, DOWNLOAD_DELAY=2, DOWNLOAD_DELAY_JITTER=0)
        await_that(lambda: self.daemon.stats("odd")["held"] >= 7)
        first.kill()
        self.site.release()
        by_hand = {"url": self.site.url + "/by-hand", "crawl": "odd", "metadata": {"note": ["x"]}}
        urllib.request.urlopen(self.daemon.url + "/v1/urls", json.dumps(by_hand).encode(), timeout=PATIENCE).read()
        second = self.crawl("odd", self.site.url, USER_AGENT="second", RETRY_TIMES=2).wait()
        log = [a for a in self.site.log if a.headers["User-Agent"] == "second"]
        forms = [a for a in log if a.path == "/form" and a.method == "POST"]
        self.assertEqual({a.body for a in forms}, {b"q=%C3%A4+b&page=1", b"q=other"})
        odd = next(a for a in forms if a.body != b"q=other")
        self.assertEqual((odd.headers["X-Odd"], odd.headers["Content-Type"]), ("yes", "application/x-www-form-urlencoded"))
        self.assertIn("c=1", odd.headers["Cookie"])
        items = second.items()
        self.assertIn({
            "callback": "form", "n": 7, "meta": repr([(1, b"\xff"), {"a"}, "three"]), "class": "FormRequest",
            "priority": 250, "flags": ["odd"], "errback": "failed"}, items)  # fmt: skip
        self.assertEqual(sorted(i["n"] for i in items if i["callback"] == "form"), [7, 8])
        self.assertIn({"callback": "json", "url": "/json", "status": 200}, items)
        self.assertEqual([a.body for a in log if a.path == "/json"], [b'{"a": [1, null]}'] * 2)
        self.assertIn("/by-hand", [a.path for a in log])

    def test_escape_hatches(self) -> None:
        """dont_filter, other schemes, lambdas, self-redirects, retries: as with Scrapy's own."""
        crawl = self.crawl("odd", self.site.url).wait()
        self.assertEqual(
            self.site.fetched(),
            {"/start": 1, "/wall": 2, "/form": 3, "/json": 2, "/lambda": 2, "/object": 2, "/gone": 1, "/again": 2},
        )
        items = [(i["callback"], i.get("url", "").replace(self.site.url, "")) for i in crawl.items()]
        self.assertEqual(sorted(items), sorted([
            ("form", ""), ("form", ""), ("json", "/form"), ("json", "/json"), ("json", "data:,hello"), ("lambda", "/lambda"),
            ("json", "/object"), ("json", "/gone"), ("json", "/again"), ("json", "/again")]))  # fmt: skip
        self.assertIn("'dupefilter/filtered': 1,", crawl.log())
        self.assertEqual({self.daemon.state("odd", self.site.url + path) for path in ("/lambda", "/object")}, {"done", "seen"})
        again = self.crawl("odd", self.site.url).wait()
        self.assertIn("it is finished", again.log())
        self.assertEqual(self.site.fetched()["/start"], 1)

    def test_requests_that_cannot_leave_the_process(self) -> None:
        """After a kill and after an end in good order they come again, and none before the login."""
        self.site.hold_after = 5
        first = self.crawl("alone", self.site.url, FIRSTSEEN_LEASE=1, CONCURRENT_REQUESTS=4)
        self.site.wait_for(6)
        first.kill()
        self.site.hold_after = float("inf")
        self.site.release()
        second = self.crawl("alone", self.site.url, FIRSTSEEN_LEASE=1, CONCURRENT_REQUESTS=1, CLOSESPIDER_PAGECOUNT=4).wait()
        self.assertRegex(second.log(), "requests that can't leave this process were not fetched, and are not seen: http")
        done = {i["url"] for crawl in (first, second) for i in crawl.items()}
        known = {url for n in range(12) if n % 3 < 2 and self.daemon.state("alone", url := f"{self.site.url}/{n}")}
        self.assertLessEqual(known, done)
        third = self.crawl("alone", self.site.url).wait()
        self.assertEqual(done | {i["url"] for i in third.items()}, {f"{self.site.url}/{n}" for n in range(12)})
        self.assertLess(len(third.items()), 12)
        strangers = [a.path for a in self.site.log if a.path != "/login" and "member=1" not in a.headers.get("Cookie", "")]
        self.assertEqual((strangers, self.site.fetched()["/login"]), ([], 6))
        self.assertLessEqual(self.site.fetched()["/friends"], 3)

    def driven(self, crawl: str = "driven") -> Scheduler:
        crawler = get_crawler(Spider, {"FIRSTSEEN_URL": self.daemon.url, "FIRSTSEEN_DELAY": 0, "FIRSTSEEN_CRAWL": crawl})
        crawler.spider = crawler._create_spider("driven")
        slot = SimpleNamespace(inprogress=set(), nextcall=mock.Mock())
        crawler.engine = SimpleNamespace(_slot=slot)
        scheduler = Scheduler.from_crawler(crawler)
        scheduler.open(crawler.spider)
        return scheduler

    def next_of(self, scheduler: Scheduler) -> Request:
        until = time.monotonic() + PATIENCE
        while (request := scheduler.next_request()) is None:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        scheduler.crawler.engine._slot.inprogress.add(request)
        return request

    def test_the_end_knows_all_verdicts(self) -> None:
        """The lease of a page is released, though its redirect, which can't leave, is asked for as the spider closes."""
        scheduler = self.driven()
        scheduler.enqueue_request(Request("http://a.com/"))
        page = self.next_of(scheduler)
        asks = scheduler._outbox._client.seen
        scheduler._outbox._client.seen = lambda lines: time.sleep(1) or asks(lines)
        meta = {"redirect_times": 1, "redirect_urls": [page.url], "object": object()}
        scheduler.enqueue_request(page.replace(url="http://a.com/moved", meta=meta))
        scheduler.crawler.engine._slot.inprogress.clear()
        scheduler.close("finished")
        self.assertEqual(self.daemon.stats("driven")["in_flight"], 0)

    def test_a_redirect_is_stored_before_its_source_is_settled(self) -> None:
        """Killed when the daemon has carried out a settlement, whatever the target is a variant of."""
        chains = {"self": ["/a"], "variant": ["/./%61?#top"], "by": ["/b", "/a"], "longer": ["/b", "/c", "/b?"], "new": ["/b"]}
        for crawl, targets in chains.items():
            scheduler = self.driven(crawl)
            scheduler._failing = True  # there is no engine to close
            settle, settled = scheduler._outbox._client.settle, []

            def settle_and_die(leases: list, last: int = len(targets)) -> list:
                answers = settle(leases)
                settled.extend(leases)
                if len(settled) == last:
                    raise Refused("killed")
                return answers

            scheduler._outbox._client.settle = settle_and_die
            scheduler.enqueue_request(Request("http://a.com/a"))
            for times, target in enumerate(targets, 1):
                page = self.next_of(scheduler)
                meta = {**page.meta, "redirect_times": times, "redirect_urls": [*page.meta.get("redirect_urls", []), page.url]}
                scheduler.enqueue_request(page.replace(url="http://a.com" + target, meta=meta))
                scheduler.crawler.engine._slot.inprogress.clear()
                scheduler.next_request()
            scheduler._outbox._thread.join(PATIENCE)
            stats = self.daemon.stats(crawl)
            self.assertEqual((len(settled), stats["held"], stats["completed"]), (len(targets), 1, len(targets)), crawl)
            scheduler._inbox.close(PATIENCE)

    def test_a_host_that_asks_to_be_left_alone(self) -> None:
        """What was leased ahead goes back, what is in memory waits, and another host is served."""
        scheduler = self.driven()
        for n in range(3):
            scheduler.enqueue_request(Request(f"http://a.com/{n}"))
        await_that(lambda: scheduler._drain() or len(scheduler) == 3)
        page = self.next_of(scheduler)
        for n in range(3):
            scheduler.enqueue_request(Request(f"http://a.com/memory/{n}", meta={"object": object()}))
        await_that(lambda: scheduler._drain() or len(scheduler) == 5)
        scheduler._on_download(Response(page.url, status=503, headers={"Retry-After": "3600"}), page)
        scheduler.enqueue_request(page.replace(meta={"retry_times": 1}))
        scheduler.crawler.engine._slot.inprogress.clear()
        scheduler.enqueue_request(Request("http://b.com/"))
        self.assertEqual(self.next_of(scheduler).url, "http://b.com/")
        self.assertTrue(scheduler._outbox.flush(PATIENCE))
        self.assertEqual(self.daemon.stats("driven")["in_flight"], 1)
        with urllib.request.urlopen(f"{self.daemon.url}/v1/queues?crawl=driven", timeout=PATIENCE) as answer:
            queue = next(q for q in json.load(answer)["queues"] if q["queue"] == "a.com")
        self.assertEqual((queue["state"], scheduler.next_request(), scheduler.has_pending_requests()), ("blocked", None, True))
        scheduler._blocked.clear()  # it is over
        scheduler._parked = [(0, entry) for _, entry in scheduler._parked]
        self.assertIn("memory", self.next_of(scheduler).url)
        scheduler.close("finished")

    def test_what_is_over_is_forgotten(self) -> None:
        """Whoever queues a page again that was fetched in memory gets it fetched."""
        scheduler = self.driven()
        scheduler.enqueue_request(Request("http://a.com/", meta={"object": object()}))
        page = self.next_of(scheduler)
        (key,) = scheduler._alone
        scheduler._answered[page] = True, None
        scheduler.crawler.engine._slot.inprogress.clear()
        scheduler.next_request()
        await_that(lambda: scheduler._drain() or not scheduler._alone)
        scheduler._on_leases([{"key": key, "url": page.url, "token": "t", "metadata": {}}])
        self.assertEqual(len(scheduler), 1)
        scheduler._buffer.clear()
        scheduler.close("finished")


class WrittenTest(unittest.TestCase):
    """Requests as text."""

    def there_and_back(self, r: Request, pickles: bool = False) -> Request:
        metadata = requests.dump(r, Spider("s"), pickles)
        return requests.load({"url": r.url, "metadata": metadata}, Spider("s"), pickles)

    def test_round_trip(self) -> None:
        metas = [{}, {"$b": 1}, {"a": {"$t": "x"}}, {1: 2, (3,): b"\x00"}, {"x": [(), {"a", 1}, None, 1.5, "\ud800", "é"]}]
        for meta in metas:
            r = FormRequest("http://a.com/", formdata={"x": "1"}, meta=meta, priority=-5)
            got = self.there_and_back(r)
            self.assertEqual((got.to_dict(), type(got)), (r.to_dict(), FormRequest))

    def test_plain_requests_are_short(self) -> None:
        self.assertEqual(requests.dump(Request("http://a.com/"), Spider("s")), {"scrapy": ["{}"], "spider": ["s"]})

    def test_what_cannot_be_written(self) -> None:
        for r in (Request("http://a.com/", meta={"x": object()}), Request("http://a.com/", callback=lambda r: None)):
            with self.assertRaises(requests.Unserializable):
                requests.dump(r, Spider("s"))

    def test_pickles_only_when_asked_for(self) -> None:
        r = Request("http://a.com/", meta={"x": range(3)})
        self.assertEqual(self.there_and_back(r, pickles=True).meta, r.meta)
        pickled = requests.dump(r, Spider("s"), pickles=True)
        with self.assertRaisesRegex(requests.Unserializable, "got pickle"):
            requests.load({"url": r.url, "metadata": pickled}, Spider("s"))

    def test_identity(self) -> None:
        of = requests.discriminator
        self.assertEqual(of(Request("http://a.com/")), "")
        post = of(Request("http://a.com/", method="POST", body=b"x"))
        self.assertEqual(post, "POST 11f6ad8ec52a2984abaafd7c3b516503785c2072")
        self.assertNotEqual(post, of(Request("http://a.com/", method="PUT", body=b"x")))
        self.assertEqual(of(Request("http://a.com/", meta={"firstseen_discriminator": "de"})), "de")
        self.assertNotEqual(requests.unique(post), requests.unique(post))

    def test_levels(self) -> None:
        got = [requests.level(p) for p in (-1000, -100, -10, -2, -1, 0, 1, 2, 10, 100, 10**6)]
        self.assertEqual(got, [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7])


class SeenTest(unittest.TestCase):
    """Scrapy's requests.seen, in the form of this Scrapy and in the older one."""

    URLS = ("http://a.com/?b=1&a=2", "http://a.com/new", "no url", "http://a.com/?a=2&b=1")

    def test_what_scrapy_wrote(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            filter = RFPDupeFilter(directory)
            filter.request_seen(Request("http://a.com/?a=2&b=1"))
            filter.request_seen(Request("http://a.com/elsewhere"))
            filter.close("")
            data = Path(directory, "requests.seen").read_bytes()
        fingerprints = seen.read(data)
        old = "".join(f"{f.hex()}\n" for f in fingerprints).encode()
        self.assertEqual((seen.read(old), len(fingerprints)), (fingerprints, 2))
        self.assertEqual(seen.read(data[:-3]), seen.read(data) - {max(fingerprints, key=data.find)})
        self.assertEqual(list(seen.known(fingerprints, self.URLS)), ["http://a.com/?b=1&a=2"])
        self.assertEqual(len(fingerprints), 1)


if __name__ == "__main__":
    unittest.main()
