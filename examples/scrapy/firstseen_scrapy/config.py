"""What a crawl is set to, read from Scrapy's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@dataclass(frozen=True)
class Config:
    """The FIRSTSEEN_ settings. README.md explains each."""

    url: str  # "" for a daemon of this process, see private.py
    token: str
    ca_file: str
    crawl: str
    client: str
    delay: float
    lease: int
    prefetch: int
    at_risk: int  # requests that a kill may have fetched again, at most
    per_domain: int
    give_up: float
    filter_start: bool
    keep_open: bool
    pickles: bool
    cache: int
    debug: bool

    @classmethod
    def of(cls, crawler: Crawler) -> Config:
        s = crawler.settings
        serializer = s.get("FIRSTSEEN_SERIALIZER", "json")
        if serializer not in ("json", "pickle"):
            raise NotConfigured(f"cannot read settings; got FIRSTSEEN_SERIALIZER {serializer!r}; want json or pickle")
        concurrent = s.getint("CONCURRENT_REQUESTS") or 16
        config = cls(
            url=s.get("FIRSTSEEN_URL", ""),
            token=s.get("FIRSTSEEN_TOKEN", ""),
            ca_file=s.get("FIRSTSEEN_CA_FILE", ""),
            crawl=s.get("FIRSTSEEN_CRAWL", "%(spider)s") % {"spider": _spider_name(crawler)},
            client=s.get("FIRSTSEEN_CLIENT", ""),
            delay=s.getfloat("FIRSTSEEN_DELAY", s.getfloat("DOWNLOAD_DELAY")),
            # Nobody else asks a private daemon, so leases of a killed process may end soon.
            lease=s.getint("FIRSTSEEN_LEASE", 60 if s.get("FIRSTSEEN_URL") else 10),
            prefetch=s.getint("FIRSTSEEN_PREFETCH", 2 * concurrent),
            at_risk=s.getint("FIRSTSEEN_AT_RISK", 2 * concurrent),
            per_domain=s.getint("CONCURRENT_REQUESTS_PER_DOMAIN") or 8,
            give_up=s.getfloat("FIRSTSEEN_GIVE_UP", 300),
            filter_start=s.getbool("FIRSTSEEN_FILTER_START", True),
            keep_open=s.getbool("FIRSTSEEN_KEEP_OPEN", False),
            pickles=serializer == "pickle",
            cache=s.getint("FIRSTSEEN_CACHE", 100_000),
            debug=s.getbool("DUPEFILTER_DEBUG"),
        )
        if min(config.lease, config.prefetch, config.at_risk) < 1:
            raise NotConfigured(
                f"cannot read settings; got FIRSTSEEN_LEASE {config.lease}, FIRSTSEEN_PREFETCH {config.prefetch},"
                f" FIRSTSEEN_AT_RISK {config.at_risk}; want 1 or more"
            )
        return config


def _spider_name(crawler: Crawler) -> str:
    return (crawler.spider or crawler.spidercls).name
