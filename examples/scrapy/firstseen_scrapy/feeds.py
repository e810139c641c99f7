"""The items of a page are on disk before the page is settled.

Scrapy writes a feed through a buffer, so a killed process loses the items of pages that the
daemon already knows as done. Before a page is settled, the buffers of feeds that are local files
are written out, in Scrapy's loop, and then synced by the thread that settles, once for all pages
of a call. Other storages (S3, FTP, …) and compressed feeds are written when the spider closes or a
batch is full (FEED_EXPORT_BATCH_ITEM_COUNT), whatever happens here.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Feeds:
    """The feeds of a crawl that are local files."""

    def __init__(self, crawler: Crawler):
        self._crawler = crawler
        self._lock = threading.Lock()
        self._written: set[str] = set()  # guarded by the lock: paths that are not synced

    def write_out(self) -> None:
        """Writes the buffers of the feeds into their files. Called in Scrapy's loop."""
        try:
            exporter = self._crawler.get_extension(FeedExporter)
        except RuntimeError:  # a scheduler by itself, without a crawl
            return
        for slot in exporter.slots if exporter else ():
            if slot.file is None or slot.file.closed or not isinstance(slot.storage, FileFeedStorage):
                continue
            slot.file.flush()
            with self._lock:
                self._written.add(slot.storage.path)

    def sync(self) -> None:
        """Syncs what was written out. Called on a thread; an error ends the crawl."""
        with self._lock:
            paths, self._written = self._written, set()
        for path in paths:
            if os.path.isfile(path):  # not a pipe or a terminal
                fd = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
