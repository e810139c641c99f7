"""What a crawl is set to, read from Scrapy's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_WANTED = {"getint": "a whole number", "getfloat": "a number", "getbool": "True or False"}


@dataclass(frozen=True)
class Config:
    """The FIRSTSEEN_ settings. README.md explains each."""

    url: str  # "" for a daemon of this process, see private.py
    token: str
    ca_file: str
    spider: str  # as the crawl knows it
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
        known = {"URL", "TOKEN", "CA_FILE", "CRAWL", "SPIDER", "CLIENT", "SERIALIZER"}

        def read(name: str, get: Callable[[str, Any], Any], default: Any) -> Any:
            known.add(name)
            try:
                return get(f"FIRSTSEEN_{name}", default)
            except (TypeError, ValueError):
                raise NotConfigured(f"FIRSTSEEN_{name}: got {s[f'FIRSTSEEN_{name}']!r}; want {_WANTED[get.__name__]}") from None

        serializer = s.get("FIRSTSEEN_SERIALIZER", "json")
        if serializer not in ("json", "pickle"):
            raise NotConfigured(f"FIRSTSEEN_SERIALIZER: got {serializer!r}; want json or pickle")
        spider = s.get("FIRSTSEEN_SPIDER") or (crawler.spider or crawler.spidercls).name
        crawl = s.get("FIRSTSEEN_CRAWL", "%(spider)s")
        try:
            crawl %= {"spider": spider}
        except (KeyError, TypeError, ValueError):
            raise NotConfigured(f"FIRSTSEEN_CRAWL: got {crawl!r}; want a name, in which %(spider)s may stand, and %% for %") from None
        concurrent = s.getint("CONCURRENT_REQUESTS") or 16
        config = cls(
            url=s.get("FIRSTSEEN_URL", ""),
            token=s.get("FIRSTSEEN_TOKEN", ""),
            ca_file=s.get("FIRSTSEEN_CA_FILE", ""),
            spider=spider,
            crawl=crawl,
            client=s.get("FIRSTSEEN_CLIENT", ""),
            delay=read("DELAY", s.getfloat, s.getfloat("DOWNLOAD_DELAY")),
            # Nobody else asks a private daemon, so leases of a killed process may end soon.
            lease=read("LEASE", s.getint, 60 if s.get("FIRSTSEEN_URL") else 10),
            prefetch=read("PREFETCH", s.getint, 2 * concurrent),
            at_risk=read("AT_RISK", s.getint, 2 * concurrent),
            per_domain=s.getint("CONCURRENT_REQUESTS_PER_DOMAIN") or 8,
            give_up=read("GIVE_UP", s.getfloat, 300),
            filter_start=read("FILTER_START", s.getbool, True),
            keep_open=read("KEEP_OPEN", s.getbool, False),
            pickles=serializer == "pickle",
            cache=read("CACHE", s.getint, 100_000),
            debug=s.getbool("DUPEFILTER_DEBUG"),
        )
        if unknown := sorted(name for name in s if name.startswith("FIRSTSEEN_") and name[len("FIRSTSEEN_") :] not in known):
            raise NotConfigured(
                f"{unknown[0]}: there is no such setting; want one of FIRSTSEEN_{', '.join(sorted(known))}."
                " FIRSTSEEN_BIN and the flags of a daemon are environment variables"
            )
        if min(config.lease, config.prefetch, config.at_risk) < 1:
            raise NotConfigured(
                f"FIRSTSEEN_LEASE, FIRSTSEEN_PREFETCH, FIRSTSEEN_AT_RISK: got {config.lease}, {config.prefetch},"
                f" {config.at_risk}; want 1 or more"
            )
        return config
