"""What goes to the daemon: requests to be queued, and leases that are over.

A thread of its own sends all that has gathered in one call, so that the synced write is
shared by many requests and Scrapy's loop waits for none. The order is what makes a kill
harmless: a lease is settled in a later call than the requests its callback yielded,
never before these are on disk.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request

from . import request as requests
from .client import Client, Refused, Unavailable

logger = logging.getLogger(__name__)

_AT_ONCE = 500  # entries of one call
_BYTES_AT_ONCE = 200_000  # of lines, so that neither side waits for the other's answer
_ROOM = 5_000  # entries that may wait; then Scrapy's loop does


@dataclass(slots=True)
class Offer:
    """A request on its way into the daemon."""

    request: Request
    line: dict[str, Any]
    size: int
    queued: bool  # else only asked for: the request itself can't leave this process
    chain: tuple[str, ...] = ()  # keys of the redirects that led here
    lease: dict[str, Any] = field(default_factory=dict)  # of one that can't leave: what it takes further, as yet
    verdict: dict[str, Any] | None = None

    def again(self) -> Offer:
        """The same, as a request of its own: of a page that redirects to itself, or back to itself by way of a page that sets a cookie."""
        self.line, self.chain = self.line | {"discriminator": requests.unique(self.line.get("discriminator", ""))}, ()
        return self


@dataclass(slots=True)
class Settlement:
    """A lease that is over."""

    lease: dict[str, Any]  # without a token there is none in the daemon; with "lines", pages to be recorded as seen
    outcome: str
    fetched: dict[str, Any] | None = None
    changes: dict[str, Any] | None = None  # of the request, for its next attempt
    until: str = ""  # when the host may be asked again
    answer: str = "ok"

    def body(self) -> dict[str, Any]:
        body = {k: self.lease[k] for k in ("crawl", "key", "token", "attempts")} | {"outcome": self.outcome} | (self.changes or {})
        if self.until:
            body |= {"block_queue_until": self.until} | ({"at": self.until} if self.outcome == "defer" else {})
        return body | {"fetched": self.fetched} if self.fetched else body


class Outbox:
    """The thread and what waits for it.

    Called on the thread: before_settling before leases are settled, delivered with entries
    that were answered, sent after that, failed with the error that ended it.
    """

    def __init__(
        self,
        client: Client,
        before_settling: Callable[[], None],
        delivered: Callable[[list[Offer | Settlement]], None],
        sent: Callable[[], None],
        failed: Callable[[Exception], None],
        give_up: float,
    ):
        self._client, self._give_up = client, give_up
        self._before_settling, self._delivered, self._sent, self._failed = before_settling, delivered, sent, failed
        self._changed = threading.Condition()
        self._waiting: deque[Offer | Settlement] = deque()
        self._sending = 0
        self._closing = self._dead = False
        self.version = 0  # grows with whatever is put in or answered
        self._thread = threading.Thread(target=self._run, name="firstseen-outbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, entry: Offer | Settlement) -> None:
        """Adds an entry; waits while there is no room."""
        with self._changed:
            while len(self._waiting) >= _ROOM and not self._dead:
                self._changed.wait()
            self._waiting.append(entry)
            self.version += 1
            self._changed.notify_all()

    def idle(self) -> bool:
        with self._changed:
            return not self._waiting and not self._sending

    def flush(self, timeout: float) -> bool:
        """Sends what waits; False if that took too long."""
        with self._changed:
            self._give_up = min(self._give_up, timeout)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._dead or not (self._waiting or self._sending), timeout)
            return not (self._waiting or self._sending)

    def close(self, timeout: float) -> bool:
        """Sends what waits and ends; False if that took too long."""
        with self._changed:
            self._closing = True
            self._give_up = min(self._give_up, timeout)
            self._changed.notify_all()
        self._thread.join(timeout)
        return self.idle()

    def _run(self) -> None:
        try:
            while entries := self._take():
                self._send(entries)
                self._delivered(entries)
                with self._changed:
                    self._sending = 0
                    self.version += 1
                    self._changed.notify_all()
                self._sent()
        except (Refused, Unavailable, OSError) as e:
            with self._changed:
                self._dead = True
                self._changed.notify_all()
            self._failed(e)
        finally:
            self._client.close()

    def _take(self) -> list[Offer | Settlement]:
        """Waits for entries; none is the end."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            entries: list[Offer | Settlement] = []
            size = 0
            while self._waiting and len(entries) < _AT_ONCE and size < _BYTES_AT_ONCE:
                entries.append(entry := self._waiting.popleft())
                size += entry.size if isinstance(entry, Offer) else 0
            self._sending = len(entries)
            self._changed.notify_all()
            return entries

    def _send(self, entries: list[Offer | Settlement]) -> None:
        offers = [e for e in entries if isinstance(e, Offer)]
        for send, queued in ((self._client.urls, True), (self._client.seen, False)):
            some = [o for o in offers if o.queued is queued]
            while some:
                verdicts = self._persist(lambda send=send, some=some: send([o.line for o in some]))
                for offer, verdict in zip(some, verdicts):
                    offer.verdict = verdict
                # At once, for the source of such a redirect may be among what is settled below.
                some = [o.again() for o in some if o.verdict["verdict"] == "duplicate" and o.verdict["key"] in o.chain]
        over = [e for e in entries if isinstance(e, Settlement)]
        if over:
            self._before_settling()
        if seen := [line for s in over if s.outcome in ("done", "redirected") for line in s.lease.get("lines", ())]:
            self._persist(lambda: self._client.seen(seen))
        if leased := [s for s in over if "token" in s.lease]:
            answers = self._persist(lambda: self._client.settle([s.body() for s in leased]))
            for settlement, answer in zip(leased, answers):
                settlement.answer = answer

    def _persist(self, call: Callable[[], Any]) -> Any:
        """Calls until it works."""
        return persist(call, lambda: self._give_up, self._pause)[0]

    def _pause(self, seconds: float) -> None:
        with self._changed:
            if not self._closing:
                self._changed.wait(seconds)
                return
        time.sleep(min(seconds, 0.2))


def persist(call: Callable[[], Any], give_up: Callable[[], float], pause: Callable[[float], None]) -> tuple[Any, bool]:
    """Calls until it works or give_up seconds have passed, longer and longer apart."""
    began, wait, lost, told = time.monotonic(), 0.1, False, False
    while True:
        try:
            answer = call()
            if told:
                logger.warning("firstseen answers again")
            return answer, lost
        except Unavailable as e:
            lost = lost or e.maybe_done
            if time.monotonic() - began + wait > give_up():
                raise
            if wait > 1 and not told:
                told = True
                logger.warning("%s; trying again for %d seconds", e, give_up())
            pause(wait)
            wait = min(2 * wait, 5)
