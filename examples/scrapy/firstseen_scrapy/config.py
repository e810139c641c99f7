"""What a crawl is set to, read from Scrapy's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
            raise NotConfigured(f"FIRSTSEEN_SERIALIZER: got {serializer!r}; want json or pickle")
        concurrent = s.getint("CONCURRENT_REQUESTS") or 16
        config = cls(
            url=s.get("FIRSTSEEN_URL", ""),
            token=s.get("FIRSTSEEN_TOKEN", ""),
            ca_file=s.get("FIRSTSEEN_CA_FILE", ""),
            crawl=_read("FIRSTSEEN_CRAWL", lambda name: s.get(name, "%(spider)s") % {"spider": _spider_name(crawler)}),
            client=s.get("FIRSTSEEN_CLIENT", ""),
            delay=_read("FIRSTSEEN_DELAY", lambda name: s.getfloat(name, s.getfloat("DOWNLOAD_DELAY"))),
            # Nobody else asks a private daemon, so leases of a killed process may end soon.
            lease=_read("FIRSTSEEN_LEASE", lambda name: s.getint(name, 60 if s.get("FIRSTSEEN_URL") else 10)),
            prefetch=_read("FIRSTSEEN_PREFETCH", lambda name: s.getint(name, 2 * concurrent)),
            at_risk=_read("FIRSTSEEN_AT_RISK", lambda name: s.getint(name, 2 * concurrent)),
            per_domain=s.getint("CONCURRENT_REQUESTS_PER_DOMAIN") or 8,
            give_up=_read("FIRSTSEEN_GIVE_UP", lambda name: s.getfloat(name, 300)),
            filter_start=_read("FIRSTSEEN_FILTER_START", lambda name: s.getbool(name, True)),
            keep_open=_read("FIRSTSEEN_KEEP_OPEN", lambda name: s.getbool(name, False)),
            pickles=serializer == "pickle",
            cache=_read("FIRSTSEEN_CACHE", lambda name: s.getint(name, 100_000)),
            debug=s.getbool("DUPEFILTER_DEBUG"),
        )
        if min(config.lease, config.prefetch, config.at_risk) < 1:
            raise NotConfigured(
                f"FIRSTSEEN_LEASE, FIRSTSEEN_PREFETCH, FIRSTSEEN_AT_RISK: got {config.lease}, {config.prefetch},"
                f" {config.at_risk}; want 1 or more"
            )
        return config


def _read(name: str, read: Callable[[str], Any]) -> Any:
    """Reads a setting; an error names it."""
    try:
        return read(name)
    except (KeyError, TypeError, ValueError) as e:
        raise NotConfigured(f"{name}: {e}") from None


def _spider_name(crawler: Crawler) -> str:
    return (crawler.spider or crawler.spidercls).name
