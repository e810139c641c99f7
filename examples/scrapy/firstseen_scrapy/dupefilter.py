"""The duplicate filter alone, for those who keep Scrapy's scheduler."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import NotConfigured
from scrapy.utils.reactor import CallLaterOnce

from . import request as requests
from .client import Client, Refused, Unavailable
from .closing import close_spider, reason_for
from .config import Config
from .outbox import persist
from .private import connected

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class DupeFilter(BaseDupeFilter):
    """Asks the daemon whether a request was seen, and records it, in one atomic step.

    Scrapy wants the answer at once, so that each unknown request costs a round trip with
    a synced write. What this process knows as seen is kept in a bounded cache: that
    never changes, and nearly all links of a real crawl are repeats.

    What is seen is on disk before the request is queued. So if the process is killed,
    requests that waited in Scrapy's own queue are seen and gone. So are links found while
    the daemon is away, since the pages that have them are seen. The Scheduler is the way
    out of both.
    """

    def __init__(self, crawler: Crawler):
        self._crawler, self._stats = crawler, crawler.stats
        self._client: Client | None = None
        self._daemon: Any = None  # of this process
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._told = self._closing = False
        self._cannot: Exception | None = None  # why no request can be asked for
        self._lost = 0
        try:
            self.config, self._daemon = connected(Config.of(crawler), crawler)
            c = self.config
            self._client = Client(c.url, c.token, c.ca_file)
            self._client.stats(c.crawl)
        except (NotConfigured, Refused, Unavailable) as e:
            self._cannot = e
            # Scrapy doesn't ask for start requests, and an engine that has just started can't be closed yet.
            self._close_soon = CallLaterOnce(self._close_spider)
            crawler.signals.connect(self._close_soon.schedule, signals.engine_started)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        return cls(crawler)

    def request_seen(self, request: Request) -> bool:
        """Without the daemon the request is lost, and the spider closes."""
        if self._cannot is None:
            try:
                return self._ask(request)
            except (Refused, Unavailable) as e:
                self._cannot = e
        self._lost += 1
        self._stats.inc_value("firstseen/lost")
        self._close_spider()
        return True

    def _close_spider(self) -> None:
        if not self._closing:
            self._closing = True
            close_spider(self._crawler, str(self._cannot), reason_for(self._cannot))

    def _ask(self, request: Request) -> bool:
        disc = requests.discriminator(request)
        if (request.url, disc) in self._known:
            self._known.move_to_end((request.url, disc))
            return True
        line = {"url": request.url, "crawl": self.config.crawl, "discriminator": disc, "skip_traps": True}
        (verdict,), lost = persist(lambda: self._client.seen([line]), lambda: self.config.give_up, time.sleep)
        self._remember(request.url, disc)
        if verdict["verdict"] == "refused":
            self._stats.inc_value(f"firstseen/refused/{verdict['error']['code']}")
            return verdict["error"]["code"] != "scheme"  # data:, file:, s3: are not for a frontier
        # After a lost answer a duplicate may be this very request: rather twice than never.
        return verdict["verdict"] == "duplicate" and not lost

    def _remember(self, url: str, disc: str) -> None:
        if self.config.cache > 0:
            self._known[url, disc] = None
            if len(self._known) > self.config.cache:
                self._known.popitem(last=False)

    def close(self, reason: str) -> None:
        if self._lost:
            logger.warning("lost %d requests; the next run finds only those of start pages, as it skips the other pages with links to them",
                           self._lost, extra={"spider": self._crawler.spider})  # fmt: skip
        if self._client is not None:
            self._client.close()
        if self._daemon is not None:
            self._daemon.close()

    def log(self, request: Request, spider: Spider) -> None:
        if self._cannot is not None:
            return  # it is counted as lost
        self._stats.inc_value("dupefilter/filtered")
        if self.config.debug or not self._told:
            end = "" if self.config.debug else " - no more duplicates will be shown (see DUPEFILTER_DEBUG to show all duplicates)"
            logger.debug("Filtered duplicate request: %s%s", request, end, extra={"spider": spider})
        self._told = True
