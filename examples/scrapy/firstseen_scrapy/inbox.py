"""What comes from the daemon: leases, fetched ahead by a thread of its own.

A lease that waits here or is being fetched is held by heartbeats, from the thread, so
that a callback that computes for minutes loses nothing; when the process dies they stop,
and within FIRSTSEEN_LEASE seconds its leases are handed out again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from .client import Client, Refused, Unavailable
from .config import Config
from .outbox import Outbox, persist

logger = logging.getLogger(__name__)

_SILENCE = 5.0  # seconds of a wait before its reason is logged
_POLL = 0.05, 1.0  # seconds between questions when nothing is known to be due, at first and at most


class Inbox:
    """The thread, and the leases this process holds.

    delivered is called on the thread with new leases, or with none when the crawl may
    have come to its end; failed with the error that ended it.
    """

    def __init__(
        self,
        client: Client,
        config: Config,
        outbox: Outbox,
        delivered: Callable[[list[dict[str, Any]]], None],
        failed: Callable[[Exception], None],
    ):
        self._client, self._config, self._outbox = client, config, outbox
        self._delivered, self._failed = delivered, failed
        self._changed = threading.Condition()
        self._held: dict[str, dict[str, Any]] = {}  # by token
        self._kept = 0  # of these, kept for another process
        self._buffered = 0
        self._poked = self._closing = False
        self._drained_at = -1
        self._waits_since: float | None = None  # there has been nothing to lease, and nothing to fetch
        self._told = ""  # the reason for a wait that was logged last
        self.state = ""  # why the last answer had no lease
        self._poll = _POLL[0]
        self._extend_at = time.monotonic() + config.lease / 3
        self._skew = timedelta()  # the daemon's clock less ours
        self._thread = threading.Thread(target=self._run, name="firstseen-inbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def poke(self) -> None:
        """Says that there may be something to lease now."""
        with self._changed:
            self._poked = True
            self._changed.notify_all()

    def taken(self) -> None:
        """Says that a lease left the buffer for the downloader."""
        with self._changed:
            self._buffered -= 1
            if self._wanted():
                self._changed.notify_all()

    def keep(self) -> int:
        """Says that a lease left the buffer and is held until the end, for a process that can
        read its request; returns how many there are. They don't keep the crawl open."""
        with self._changed:
            self._buffered -= 1
            self._kept += 1
            return self._kept

    def settled(self, lease: dict[str, Any]) -> None:
        """Ends the holding of a lease."""
        with self._changed:
            self._held.pop(lease.get("token"), None)

    def unsettled(self) -> int:
        """How many leases left the buffer and are not settled on disk."""
        with self._changed:
            return len(self._held) - self._buffered - self._kept

    def after(self, seconds: float) -> str:
        """The time of the daemon's clock in so many seconds."""
        return (datetime.now().astimezone() + self._skew + timedelta(seconds=seconds)).isoformat()

    def drained(self) -> bool:
        """Whether the crawl had come to its end, or to its limit, when last asked, and nothing was sent since."""
        return self._outbox.idle() and self._drained_at == self._outbox.version

    def close(self, timeout: float) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def _wanted(self) -> bool:
        return self._buffered <= self._config.prefetch // 2

    def _run(self) -> None:
        try:
            wait = 0.0
            while self._sleep(wait):
                if time.monotonic() >= self._extend_at:
                    self._extend()
                wait = self._lease() if self._wanted() else _POLL[1]
        except (Refused, Unavailable) as e:
            if not self._closing:
                self._failed(e)
        finally:
            self._client.close()

    def _sleep(self, seconds: float) -> bool:
        """Waits, or is woken; False at the end."""
        until = min(time.monotonic() + seconds, self._extend_at)
        with self._changed:
            was = self._wanted()
            while not self._closing and not self._poked and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
                if self._wanted() and not was:
                    break
            self._poked = False
            return not self._closing

    def _lease(self) -> float:
        """Leases what there is, and returns how long to wait before asking again."""
        version, idle = self._outbox.version, self._outbox.idle()
        asked = max(self._config.prefetch - self._buffered, 1)
        answer = self._call(lambda: self._client.lease(self._request(asked)))
        now = datetime.now().astimezone()
        leases, self.state = answer["leases"], answer.get("state", "")
        if leases:
            self._skew = _time(leases[0]["expires"]) - timedelta(seconds=self._config.lease) - now
            with self._changed:
                self._buffered += len(leases)
                self._held.update((lease["token"], lease) for lease in leases)
            self._delivered(leases)
            self._poll = _POLL[0]
        elif idle and version == self._outbox.version and (self.state in ("finished", "limited") or self._holds_nothing()):
            self._drained_at = version
            self._delivered([])
        self._explain(answer)
        if len(leases) == asked:
            return 0.0
        # Other processes may add something at any time.
        wait, self._poll = self._poll, min(2 * self._poll, _POLL[1])
        if answer.get("next"):
            due = (_time(answer["next"]) - self._skew - now).total_seconds()
            wait = min(wait, max(due, 0.002 if leases else 0.02))
        return wait

    def _explain(self, answer: dict[str, Any]) -> None:
        """Logs why this process, which has nothing to fetch, has waited for some seconds: once for
        each reason. A delay is often the host's own, and comes between all pages, so once in all."""
        if answer.get("state", "finished") in ("finished", "limited") or len(self._held) > self._kept:
            self._waits_since = None
            if not self._told.startswith("delayed"):
                self._told = ""
            return
        now = time.monotonic()
        self._waits_since = self._waits_since or now
        if now - self._waits_since < _SILENCE:
            return
        self._waits_since = now  # the question comes once in these seconds
        try:
            queue = self._call(lambda: self._client.fullest_queue(self._config.crawl))
        except Refused:
            queue = {}
        reason = f"{answer['state']} {queue.get('queue')} {queue.get('reason')}"
        if reason != self._told:
            self._told = reason
            logger.info(waits(self._config.crawl, self._config.client, answer, queue))

    def _request(self, max_leases: int) -> dict[str, Any]:
        c = self._config
        body = {"crawl": c.crawl, "max": max_leases, "lease_seconds": c.lease, "delay_seconds": c.delay}
        body["max_in_flight"] = 1 << 30  # Scrapy's downloader keeps to its own bound
        if c.client:
            body["client"] = c.client
        if c.delay == 0:
            body["max_per_queue"] = c.per_domain
        return body

    def _holds_nothing(self) -> bool:
        """Whether nothing is left but what this process keeps for others."""
        return self._kept > 0 and self._call(lambda: self._client.stats(self._config.crawl))["held"] <= self._kept

    def _extend(self) -> None:
        self._extend_at = time.monotonic() + self._config.lease / 3
        with self._changed:
            held = list(self._held.values())
        if not held:
            return
        outcome = {"outcome": "extend", "at": self.after(self._config.lease)}
        self._call(lambda: self._client.settle(
            [{k: lease[k] for k in ("crawl", "key", "token", "attempts")} | outcome for lease in held]
        ))  # fmt: skip

    def _call(self, call: Callable[[], Any]) -> Any:
        def pause(seconds: float) -> None:
            with self._changed:
                if self._closing:
                    raise Unavailable("closing")
                self._changed.wait(seconds)

        return persist(call, lambda: self._config.give_up, pause)[0]


def waits(crawl: str, client: str, answer: dict[str, Any], queue: dict[str, Any]) -> str:
    """Says why an answer to a request for leases has none."""
    text = f"Crawl {crawl!r} is {answer['state']}"
    if until := answer.get("next", "")[:19]:
        text += f" until {until}Z"
    if queue.get("reason"):
        text += f"; queue {queue['queue']}: {queue['reason']}. If its host is up, `firstseen set --crawl {crawl} --queue {queue['queue']}"
        text += " --blocked-until default` ends the wait; `firstseen serve --failing-after` (FIRSTSEEN_FAILING_AFTER) says after how many it begins"
    if answer["state"] == "waiting":
        whose, all_of = (f"--client {client}", "") if client else ("--state leased", ", and those of processes that run")
        text += f". Another process has leases; if it died, `firstseen free --crawl {crawl} {whose}` ends them{all_of}"
    return text


def _time(text: str) -> datetime:
    """Reads a time in RFC 3339, which may have nanoseconds."""
    if text.endswith("Z"):
        text = text[:-1] + "+00:00"
    head, dot, tail = text.partition(".")
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:]}"
    return datetime.fromisoformat(text)
