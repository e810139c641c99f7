"""The end of a spider that can't go on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from .client import Unavailable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


def reason_for(e: Exception) -> str:
    """The reason to close a spider because of an error of the daemon."""
    return "firstseen_unavailable" if isinstance(e, Unavailable) else "firstseen_refused"


def close_spider(crawler: Crawler, why: str, reason: str) -> None:
    """Logs why, and closes the spider with a reason, after which the commands of Scrapy exit with 1."""
    logger.error("%s; closing the spider", why, extra={"spider": crawler.spider})

    def fail() -> None:
        # A command exits with 0 whatever the reason is, unless a crawler was left without a spider.
        crawler.spider = None

    crawler.signals.connect(fail, signals.engine_stopped, weak=False)
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        deferred_from_coro(engine.close_spider_async(reason=reason))
    else:
        engine.close_spider(crawler.spider, reason)
