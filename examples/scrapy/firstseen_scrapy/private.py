"""A daemon that this process starts for itself, where FIRSTSEEN_URL names none."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from .config import Config

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def connected(config: Config, crawler: Crawler) -> tuple[Config, Any]:
    """Returns the settings with an address, and the daemon that was started for it, if one was.

    The daemon keeps its store in JOBDIR, or else in the project's .scrapy directory, so that
    the next run goes on. It ends within seconds when this process ends in any way.
    """
    if config.url:
        return config, None
    try:
        import firstseen
    except ImportError:
        raise NotConfigured(
            "cannot start a daemon: there is no Python package firstseen, which the README says how to build;"
            " or start `firstseen serve` and set FIRSTSEEN_URL"
        ) from None
    jobdir = crawler.settings.get("JOBDIR")
    directory = os.path.join(jobdir, "firstseen") if jobdir else data_path(os.path.join("firstseen", _file_name(config.crawl)), True)
    try:
        daemon = firstseen.Daemon(directory, "--drain", "3s")
    except OSError as e:  # no program, no permission, a full disk
        raise NotConfigured(f"cannot start a daemon: {e}") from None
    except firstseen.FirstseenError as e:
        raise NotConfigured(f"{e}. Several processes share a crawl by one daemon: start `firstseen serve`, and set FIRSTSEEN_URL") from None
    return replace(config, url=daemon.url, token=daemon.token), daemon


def _file_name(crawl: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else f"%{ord(c):02x}" for c in crawl)
