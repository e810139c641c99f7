"""What the adapter says of a wait, of a daemon that it can't use, and of a limit; no daemon is needed."""

from __future__ import annotations

import itertools
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from unittest import mock

from firstseen_scrapy import dupefilter, inbox, outbox
from firstseen_scrapy.client import Client, Refused, Unavailable
from firstseen_scrapy.config import Config
from firstseen_scrapy.dupefilter import DupeFilter
from firstseen_scrapy.scheduler import Scheduler
from scrapy import Request
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler


class ClientTest(unittest.TestCase):
    def test_addresses(self) -> None:
        for url in ("127.0.0.1:9", "http://127.0.0.1:9", "localhost:9/prefix", "[::1]:9"):
            Client(url)
        for url in ("", "http://", "ftp://a.example", "127.0.0.1:99999", "http://a.example:port"):
            with self.assertRaisesRegex(Refused, "FIRSTSEEN_URL"):
                Client(url)

    def test_certificates(self) -> None:
        for file in ("missing.pem", __file__):
            with self.assertRaisesRegex(Refused, f"FIRSTSEEN_CA_FILE.*{file}"):
                Client("https://127.0.0.1:9", ca_file=file)

    def test_remedies_fit(self) -> None:
        """Only where nobody listens it is asked whether the daemon runs."""
        answers = {401: "FIRSTSEEN_TOKEN must be a token", 403: "scope write", 404: "FIRSTSEEN_URL", 400: "answered 400", 200: "HTTP interface"}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(int(self.path.rpartition("=")[2]))
                self.end_headers()
                self.wfile.write(b"<html>")

            def log_message(self, *args: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        for status, remedy in answers.items():
            with self.assertRaisesRegex(Refused, remedy) as caught:
                Client(address).stats(str(status))
            self.assertNotIn("running there", str(caught.exception))
        with self.assertRaisesRegex(Refused, "a daemon without --tls-cert is at http://"):
            Client(f"https://{address}").stats("200")
        server.shutdown()
        server.server_close()
        with self.assertRaisesRegex(Unavailable, "is `firstseen serve` running there"):
            Client(address).stats("200")


class OutageTest(unittest.TestCase):
    def test_it_is_told_once_and_its_end(self) -> None:
        answers, clock = iter([Unavailable("gone")] * 9 + ["answer"]), itertools.count()
        with mock.patch.object(outbox.time, "monotonic", lambda: next(clock)), self.assertLogs(outbox.logger) as logged:
            outbox.persist(mock.Mock(side_effect=answers), lambda: 300, lambda seconds: None)
        self.assertEqual([r.getMessage() for r in logged.records], ["gone; trying again for 300 seconds", "firstseen answers again"])


class ConfigTest(unittest.TestCase):
    def test_an_error_names_the_setting(self) -> None:
        for name, value in {"CRAWLL": "a", "BIN": "/nope", "LEASE": "1m", "DELAY": "2s", "CRAWL": "100%", "FILTER_START": "perhaps", "SERIALIZER": "yaml", "AT_RISK": 0}.items():
            crawler = SimpleNamespace(settings=Settings({f"FIRSTSEEN_{name}": value}), spider=SimpleNamespace(name="s"))
            with self.assertRaisesRegex(NotConfigured, f"FIRSTSEEN_{name}"):
                Config.of(crawler)  # type: ignore[arg-type]


class LostTest(unittest.TestCase):
    def test_lost_requests_are_no_duplicates(self) -> None:
        """The filter answers "seen" for what it could not ask for, and says how many these were."""
        crawler = get_crawler(settings_dict={"FIRSTSEEN_URL": "127.0.0.1:9", "FIRSTSEEN_GIVE_UP": 0})
        crawler.spider = crawler._create_spider("s")
        with mock.patch.object(Client, "stats"):
            filter = DupeFilter(crawler)
        verdicts = [{"verdict": "new"}], [{"verdict": "duplicate"}], Unavailable("gone"), []
        with mock.patch.object(Client, "seen", side_effect=verdicts), mock.patch.object(dupefilter, "close_spider") as close:
            for n in range(4):
                request = Request(f"http://a.example/{n}")
                if filter.request_seen(request):
                    filter.log(request, crawler.spider)
        close.assert_called_once()
        with self.assertLogs(dupefilter.logger, "WARNING") as logged:
            filter.close("firstseen_unavailable")
        self.assertIn("lost 2 requests", logged.output[0])
        self.assertEqual({k: crawler.stats.get_value(k) for k in ("firstseen/lost", "dupefilter/filtered")}, {"firstseen/lost": 2, "dupefilter/filtered": 1})


class WaitTest(unittest.TestCase):
    def told(self, *waits: tuple[dict, dict, int], client: str = "") -> list[str]:
        """What is logged if answers, with the queue that waits, come once a second for some seconds."""
        clock, queues = [100.0], [{}]
        asked = SimpleNamespace(fullest_queue=lambda crawl: queues[0])
        config = SimpleNamespace(crawl="news", client=client, lease=60, keep_open=False, give_up=1)
        with mock.patch.object(inbox.time, "monotonic", lambda: clock[0]), mock.patch.object(inbox.logger, "info") as info:
            box = inbox.Inbox(asked, config, None, None, None)  # type: ignore[arg-type]
            for answer, queue, seconds in waits:
                queues[0] = queue
                for _ in range(seconds):
                    box._explain(answer)
                    clock[0] += 1
        return [call.args[0] for call in info.call_args_list]

    def test_once_for_each_reason(self) -> None:
        delayed = {"state": "delayed", "next": "2026-11-27T20:51:01.313Z"}
        failing = {"queue": "a.example", "reason": "5 fetches in a row failed"}
        served, paused = {}, {"state": "paused"}
        line = "Crawl 'news' is delayed until 2026-11-27T20:51:01Z; queue a.example: 5 fetches in a row failed. If its host is up, `firstseen set"
        line += " --crawl news --queue a.example --blocked-until default` ends the wait; `firstseen serve --failing-after` (FIRSTSEEN_FAILING_AFTER) says after how many it begins"
        self.assertEqual(self.told((delayed, failing, 4), (served, {}, 1), (delayed, failing, 4)), [])
        self.assertEqual(self.told((delayed, failing, 30)), [line])
        self.assertEqual(self.told((delayed, failing, 9), (served, {}, 1), (delayed, failing, 9)), [line])
        self.assertEqual(self.told((paused, {}, 9), (served, {}, 1), (paused, {}, 9)), ["Crawl 'news' is paused"] * 2)
        self.assertEqual(self.told(({"state": "finished"}, {}, 9), ({"state": "limited"}, {}, 9)), [])

    def test_leases_of_a_process_that_died(self) -> None:
        waiting = {"state": "waiting", "next": "2026-11-27T20:51:01Z"}
        self.assertIn("`firstseen free --crawl news --client w1`", self.told((waiting, {}, 9), client="w1")[0])
        self.assertIn("`firstseen free --crawl news --state leased`", self.told((waiting, {}, 9))[0])


class LimitTest(unittest.TestCase):
    def test_a_limit_is_a_reason_to_close(self) -> None:
        scheduler = object.__new__(Scheduler)
        scheduler._inbox = SimpleNamespace(state="finished")
        scheduler._on_idle()
        scheduler._inbox = SimpleNamespace(state="limited")
        with self.assertRaises(CloseSpider) as caught:
            scheduler._on_idle()
        self.assertEqual(caught.exception.reason, "firstseen_limited")


if __name__ == "__main__":
    unittest.main()
