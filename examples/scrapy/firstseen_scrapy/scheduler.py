"""The scheduler: requests go to the daemon, leases come back as requests."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakSet

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import CloseSpider, NotConfigured

from . import declared
from . import request as requests
from .client import Client, Refused, Unavailable
from .closing import close_spider, reason_for
from .config import Config
from .feeds import Feeds
from .inbox import Inbox
from .outbox import Offer, Outbox, Settlement
from .private import connected

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_CLOSE_WITHIN = 30  # seconds
_HOLD = 5.0  # seconds in which start() may yield a login before the pages of an earlier run
_MAX_LINE = 60_000  # bytes of a written request; the daemon's bound is 65,536
_MAX_UNREADABLE = 100  # requests that are kept for a process that can read them
_OWNER = "http://spider.invalid/"  # recorded as seen in each crawl, once bare and once for its spider
_LIMITED = "firstseen_limited"  # the reason to close a spider whose crawl has reached its limit
_TOLD = 20  # URLs of lost requests that are logged
_LOGIN = "firstseen_login"  # in meta: each process makes this request, before all others
_CHAIN = "firstseen_chain"  # in meta: the keys of the redirects that led to a request


class Scheduler(BaseScheduler):
    """Keeps the queue and the duplicate filter of a crawl in a firstseen daemon.

    A request whose URL the daemon doesn't take (data:, file:), or that can't be written
    down, waits in memory instead and is lost with the process, as in Scrapy's own. So it is
    recorded as seen only when its page was processed: until then the daemon is asked whether
    it knows the URL, and this process filters those that it alone knows. What stands for the
    lease of such a request has the lines to record, and no token; but if the request takes a
    leased one further (a retry, a redirect), it keeps that lease until it is over.
    """

    def __init__(self, crawler: Crawler):
        self.crawler = crawler
        self.stats = crawler.stats
        self._arrived: deque[tuple[Callable[[Any], None], Any]] = deque()  # from the threads
        self._buffer: list[tuple[int, int, dict[str, Any], Request]] = []  # leased, not yet fetched
        self._memory: list[tuple[bool, int, int, dict[str, Any], Request]] = []  # not of a login; then as the buffer
        self._blocked: dict[str, float] = {}  # queues whose host asked to be left alone, with until when
        self._parked: list[tuple[float, tuple[bool, int, int, dict[str, Any], Request]]] = []  # of _memory, what waits for that
        self._alone: dict[str, dict[str, Any]] = {}  # leases of requests that can't leave this process, by key
        self._order = itertools.count()
        self._fetching: dict[Request, dict[str, Any]] = {}  # with their leases
        self._answered: dict[Request, tuple[bool, dict[str, Any]]] = {}  # whether it is a page, and what the fetch gave
        self._retried: dict[Request, dict[str, Any]] = {}  # with what changes for the next attempt
        self._redirected: set[Request] = set()
        self._logins: WeakSet[Request] = WeakSet()
        self._unreadable: list[dict[str, Any]] = []  # leases
        self._feeds = Feeds(crawler)
        self._refused: Counter[str] = Counter()  # requests by the code of the refusal
        self._told_duplicate = self._told_memory = self._failing = False
        self._daemon: Any = None  # of this process
        self._cannot: Exception | None = None  # why the spider could not be opened

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        return cls(crawler)

    # What the engine calls.

    def open(self, spider: Spider) -> None:
        self.spider = spider
        self._in_loop = _loop_caller()
        try:
            stats = self._connect()
        except (NotConfigured, Refused, Unavailable) as e:
            # Scrapy shows an error from here as four tracebacks; next_request closes the spider instead.
            self._cannot = e
            self._end_daemon()
            return
        c = self.config
        self._outbox = Outbox(
            self._client(), self._feeds.sync, self._hand(self._on_answers), lambda: self._inbox.poke(), self._hand(self._on_failure),
            c.give_up,
        )  # fmt: skip
        self._inbox = Inbox(self._client(), c, self._outbox, self._hand(self._on_leases), self._hand(self._on_failure))
        self.crawler.signals.connect(self._on_download, signals.response_downloaded)
        self.crawler.signals.connect(self._on_response, signals.response_received)
        self.crawler.signals.connect(self._on_error, signals.spider_error)
        self.crawler.signals.connect(self._on_idle, signals.spider_idle)
        self._outbox.start()
        self._inbox.start()
        self._hold_until = time.monotonic() + _HOLD
        log = {"crawl": c.crawl, "held": stats["held"], "seen": max(stats["seen"] - 2, 0)}
        if log["seen"] and not stats["held"]:
            logger.warning(
                "Crawl %(crawl)r has seen %(seen)d URLs and nothing waits: it is finished, unless its start"
                " requests are new. Another FIRSTSEEN_CRAWL begins from scratch", log, extra={"spider": spider})  # fmt: skip
        elif log["seen"]:
            logger.info("Resuming crawl %(crawl)r (%(held)d requests wait, %(seen)d seen)", log, extra={"spider": spider})

    def _connect(self) -> dict[str, Any]:
        """Finds or starts the daemon, and returns the counts of the crawl, which is this spider's from now on."""
        self.config, self._daemon = connected(Config.of(self.crawler), self.crawler)
        client = self._client()
        try:
            stats = client.stats(self.config.crawl)
            self._claim(client, stats["seen"])
        finally:
            client.close()
        return stats

    def has_pending_requests(self) -> bool:
        if self._cannot:
            return True
        self._hold_until = 0.0  # the engine asks when start() has ended
        self._settle_finished()
        return bool(self.config.keep_open or self._buffer or self._memory or self._parked or not self._inbox.drained() or self._arrived)

    def enqueue_request(self, request: Request) -> bool:
        """Takes every request: whether it is a duplicate is known a moment later, and
        the request_dropped signal and the statistics are then as Scrapy's own."""
        if self._cannot:
            return False
        self._hold_until = 0.0
        parent, how = self._parent(request)
        # The mark is taken out of meta, or a copy of it would spread the mark to all that the login links to.
        if request.meta.pop(_LOGIN, False) or parent in self._logins:
            self._logins.add(request)
            self._remember(request, {})  # for this process, whatever is known of it
            return True
        if how == "retry" and "token" in self._fetching[parent] and self._retry(parent, request):
            return True
        chain: list[str] = []
        if how == "redirect":
            self._redirected.add(parent)
            chain = [*parent.meta.get(_CHAIN, []), self._fetching[parent].get("key", "")]
        request.meta.pop(_CHAIN, None)
        if chain:
            request.meta[_CHAIN] = chain
        disc = requests.discriminator(request)
        if request.dont_filter and not self._is_filtered_start(request, how):
            disc = requests.unique(disc)
        # Scrapy has limits of its own: DEPTH_LIMIT, URLLENGTH_LIMIT.
        line: dict[str, Any] = {"url": request.url, "crawl": self.config.crawl, "skip_traps": True}
        if disc:
            line["discriminator"] = disc
        try:
            metadata = requests.dump(request, self.spider, self.config.pickles, self.config.spider)
            size = len(next(iter(metadata.values()))[0])
            if size > _MAX_LINE:
                raise requests.Unserializable(f"got {size} characters; want at most {_MAX_LINE}")
        except requests.Unserializable as e:
            self._tell_memory(e)
            # It keeps its parent's lease, since nothing else would bring the page back after a kill.
            lease = {} if parent in self._retried else self._fetching.pop(parent, {})
            self._answered.pop(parent, None)
            self._redirected.discard(parent)
            if how == "retry" and lease:
                request.dont_filter = parent.dont_filter
                self._remember(request, lease)
            else:
                self._outbox.put(Offer(request, line | {"record": False}, len(request.url), queued=False, chain=tuple(chain), lease=lease))
            return True
        line |= {"metadata": metadata, "priority": requests.level(request.priority), "depth": request.meta.get("depth", 0)}
        if queue := request.meta.get("firstseen_queue"):
            line["queue"] = queue
        self._outbox.put(Offer(request, line, size + len(request.url), queued=True, chain=tuple(chain)))
        return True

    def next_request(self) -> Request | None:
        if self._cannot:
            self._close_spider(str(self._cannot), reason_for(self._cannot))
            return None
        self._settle_finished()
        # While a login is under way all but its own requests wait, and so they do for what start() begins with.
        under_way = itertools.chain(self._fetching, (entry[-1] for _, entry in self._parked))
        login = time.monotonic() < self._hold_until or any(r in self._logins for r in under_way)
        if entry := self._pop_memory(login):
            *_, lease, request = entry
            self._fetching[request] = lease
            self._count("scheduler/dequeued/memory")
        elif self._buffer and not login and self._inbox.unsettled() < self.config.at_risk:
            _, _, lease, request = heapq.heappop(self._buffer)
            self._fetching[request] = lease
            self._inbox.taken()
            self._count("scheduler/dequeued/firstseen")
        else:
            return None
        self._count("scheduler/dequeued")
        return request

    def _pop_memory(self, login: bool) -> tuple[bool, int, int, dict[str, Any], Request] | None:
        """Takes what may be fetched now of the requests in memory."""
        while self._parked and self._parked[0][0] <= time.monotonic():
            heapq.heappush(self._memory, heapq.heappop(self._parked)[1])
        while self._memory and not (login and self._memory[0][0]):
            entry = heapq.heappop(self._memory)
            if not (seconds := self._blocked_for(*entry[-2:])):
                return entry
            heapq.heappush(self._parked, (time.monotonic() + seconds, entry))
        return None

    def close(self, reason: str) -> None:
        """Settles fetched requests and releases the others."""
        if self._cannot:
            return
        self._settle_finished()
        self._memory += (entry for _, entry in self._parked)
        while self._outbox.flush(_CLOSE_WITHIN) and self._arrived:  # verdicts decide what becomes of leases
            self._drain()
        self._inbox.close(_CLOSE_WITHIN)
        self._drain()
        for lease in [*self._fetching.values(), *(entry[-2] for entry in (*self._buffer, *self._memory)), *self._unreadable]:
            if "token" in lease:
                self._outbox.put(Settlement(lease, "release"))
        if not self._outbox.close(_CLOSE_WITHIN):
            logger.error("firstseen did not take all answers; what was being fetched will be fetched again")
        self._failing = True  # too late to close for it
        self._drain()
        self._say_why(reason)
        self._end_daemon()
        if self._memory:
            urls = ", ".join(entry[-1].url for entry in self._memory[:_TOLD])
            logger.warning("%d requests that can't leave this process were not fetched, and are not seen: %s%s",
                           len(self._memory), urls, ", …" if len(self._memory) > _TOLD else "")  # fmt: skip

    def _say_why(self, reason: str) -> None:
        """Logs whether the crawl is finished, or what is left."""
        client = self._client()
        try:
            s = client.stats(self.config.crawl)
        except (Refused, Unavailable):
            return
        finally:
            client.close()
        if refused := self._refused.total():
            codes = ", ".join(f"{n} {code}" for code, n in self._refused.most_common())
            logger.info("firstseen refused %d requests, which were not fetched: %s", refused, codes)
        log = {"crawl": self.config.crawl, "done": s["completed"], "failed": s["dropped"], "held": s["held"] + len(self._memory), "reason": reason}
        left = "%(held)d requests wait, %(done)d are done, %(failed)d dropped as failed"
        if not log["held"]:
            logger.info("Crawl %(crawl)r is finished: %(done)d requests done, %(failed)d dropped as failed", log)
        elif reason == _LIMITED:
            logger.info(f"Crawl %(crawl)r has reached its limit: {left}; a higher limit lets the next run go on", log)
        else:
            logger.info(f"Crawl %(crawl)r is not finished (%(reason)s): {left}; run it again to go on", log)

    def _end_daemon(self) -> None:
        if self._daemon is not None:
            self._daemon.close()

    def __len__(self) -> int:
        return len(self._buffer) + len(self._memory)

    # Requests on their way out.

    def _is_filtered_start(self, request: Request, how: str) -> bool:
        """Whether it is a start request, asked once for the whole crawl though Scrapy
        marks it dont_filter: a resumed run would begin by fetching them all again. A
        retry of one is no start; a request whose meta was copied from one is deeper."""
        meta = request.meta
        first = not meta.get("retry_times") or how == "redirect"
        return bool(self.config.filter_start and meta.get("is_start_request") and not meta.get("depth") and first)

    def _parent(self, request: Request) -> tuple[Request | None, str]:
        """The request in progress that this one takes further, and how: "redirect" or "retry"."""
        redirects, retries = request.meta.get("redirect_times", 0), request.meta.get("retry_times", 0)
        if not redirects and not retries:
            return None, ""
        for parent in self._fetching:
            more_redirects = redirects - parent.meta.get("redirect_times", 0)
            more_retries = retries - parent.meta.get("retry_times", 0)
            if (more_redirects, more_retries) == (1, 0) and request.meta["redirect_urls"][-1] == parent.url:
                return parent, "redirect"
            if (more_redirects, more_retries) == (0, 1) and request.url == parent.url:
                if requests.discriminator(request) == requests.discriminator(parent):
                    return parent, "retry"
        return None, ""

    def _retry(self, parent: Request, request: Request) -> bool:
        """Makes a retry the next attempt of the same entry of the queue; False if it can't be.
        Scrapy sets dont_filter on it to pass its own filter, and a redirect would inherit that."""
        asked, request.dont_filter = request.dont_filter, parent.dont_filter
        changes = self._written(request)
        if changes is None or parent in self._retried:
            request.dont_filter = asked
            return False
        self._retried[parent] = changes | {"priority": requests.level(request.priority)}
        return True

    def _written(self, request: Request) -> dict[str, Any] | None:
        """What replaces the stored request of a lease, None if it can't be written."""
        try:
            metadata = requests.dump(request, self.spider, self.config.pickles, self.config.spider)
        except requests.Unserializable:
            return None
        return {"metadata": metadata} if len(next(iter(metadata.values()))[0]) <= _MAX_LINE else None

    def _claim(self, client: Client, seen: int) -> None:
        """Makes the crawl this spider's, or refuses the crawl of another: neither could read
        the other's requests."""
        bare = {"url": _OWNER, "crawl": self.config.crawl}
        own = bare | {"discriminator": f"spider {self.config.spider}"}
        mine, anybody = client.seen([own | {"record": False}, bare])
        if mine["verdict"] == "duplicate":
            return
        # A process that was killed before the second record left the first alone.
        if anybody["verdict"] == "duplicate" and seen > 1:
            try:
                kept = client.find(self.config.crawl, 100)
            except Refused:  # by the scope of the token
                kept = []
            of = Counter(name for url in kept for name in (url.get("metadata") or {}).get(requests.SPIDER, ())).most_common(1)
            owner = f"the spider {of[0][0]!r}, not of {self.config.spider!r}" if of else f"another spider than {self.config.spider!r}"
            raise NotConfigured(
                f"crawl {self.config.crawl!r} is of {owner}: set another FIRSTSEEN_CRAWL, or, if the spider was renamed, FIRSTSEEN_SPIDER"
                " to its old name. Spiders that are to skip what others have fetched share a crawl by DUPEFILTER_CLASS, see the README"
            )
        client.seen([own])

    def _tell_memory(self, e: Exception) -> None:
        self._count("scheduler/unserializable")
        if not self._told_memory:
            self._told_memory = True
            logger.warning("%s. It waits in memory, and comes again only if it is found again; no more of these are logged", e,
                           extra={"spider": self.spider})  # fmt: skip

    # Leases that are over.

    def _settle_finished(self) -> None:
        """Settles the requests that the engine has finished: the callback has ended, and its results
        went through the pipelines or into the outbox."""
        self._drain()
        if not self._fetching:
            return
        slot = _slot(self.crawler)
        finished = [r for r in self._fetching if r not in slot.inprogress]
        if finished:
            self._feeds.write_out()
        for request in finished:
            settlement = self._settlement(request, lease := self._fetching.pop(request))
            if lease:
                settlement.until = self._blocked_until(lease, request)
                if settlement.until and settlement.changes and settlement.outcome == "release":
                    settlement.outcome = "defer"
                lease["outcome"] = settlement.outcome
                self._outbox.put(settlement)

    def _on_error(self, failure: Any, response: Any) -> None:
        """A page whose callback raised an error is dropped, so that it can be selected and requeued."""
        request = getattr(response, "request", None)
        if request in self._fetching:
            self._answered[request] = False, None

    def _settlement(self, request: Request, lease: dict[str, Any]) -> Settlement:
        is_page, fetched = self._answered.pop(request, (False, None))
        if request.method != "GET" or request.body:
            fetched = None  # the URL alone does not say what was fetched
        if changes := self._retried.pop(request, None):
            # How many attempts there are is for Scrapy to say, so this is none of the daemon's.
            return Settlement(lease, "release", changes=changes)
        if request in self._redirected:
            self._redirected.discard(request)
            return Settlement(lease, "redirected")
        if is_page:
            return Settlement(lease, "done", fetched)
        if request.meta.get("retry_times"):  # whoever requeues it wants all attempts again
            changes = self._written(request.replace(meta={**request.meta, "retry_times": 0}))
        return Settlement(lease, "drop", fetched, changes)

    def _on_download(self, response: Any, request: Request) -> None:
        """Leaves a host alone that asks for it. What was leased ahead goes back; what is being fetched can't be stopped."""
        seconds = declared.retry_after(response)
        if not seconds or (lease := self._fetching.get(request)) is None:
            return
        now, queue = time.monotonic(), _queue(lease, request)
        self._blocked = {q: until for q, until in self._blocked.items() if until > now}
        self._blocked[queue] = max(now + seconds, self._blocked.get(queue, 0))
        buffer, self._buffer = self._buffer, []
        for entry in buffer:
            if until := self._blocked_until(*entry[-2:]):
                self._put_back(entry[-2], until)
            else:
                self._buffer.append(entry)
        heapq.heapify(self._buffer)

    def _put_back(self, lease: dict[str, Any], until: str) -> None:
        self._inbox.taken()
        self._outbox.put(Settlement(lease, "release", until=until))

    def _blocked_for(self, lease: dict[str, Any], request: Request) -> float:
        """For how many seconds the host of a request is to be left alone."""
        if not self._blocked:
            return 0
        return max(self._blocked.get(_queue(lease, request), 0) - time.monotonic(), 0)

    def _blocked_until(self, lease: dict[str, Any], request: Request) -> str:
        """The same by the daemon's clock, "" for not at all. Whatever is settled for a host meanwhile tells the daemon."""
        seconds = self._blocked_for(lease, request)
        return self._inbox.after(seconds) if seconds else ""

    def _on_response(self, response: Any, request: Request) -> None:
        if request in self._fetching:
            self._answered[request] = self._is_page(response, request), declared.fetched(response)

    def _is_page(self, response: Any, request: Request) -> bool:
        """Whether a response reaches the callback, by the rules of Scrapy's HttpErrorMiddleware."""
        settings = self.crawler.settings
        if 200 <= response.status < 300 or request.meta.get("handle_httpstatus_all"):
            return True
        if "handle_httpstatus_list" in request.meta:
            return response.status in request.meta["handle_httpstatus_list"]
        allowed = getattr(self.spider, "handle_httpstatus_list", settings.getlist("HTTPERROR_ALLOWED_CODES"))
        return settings.getbool("HTTPERROR_ALLOW_ALL") or response.status in map(int, allowed)

    # What the threads bring, in the loop's thread.

    def _hand(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Makes a callback of a thread one of the loop."""

        def from_thread(what: Any) -> None:
            self._arrived.append((take, what))
            self._in_loop(self._wake)

        return from_thread

    def _wake(self) -> None:
        self._drain()
        slot = _slot(self.crawler)
        if slot is not None:
            slot.nextcall.schedule()

    def _drain(self) -> None:
        while self._arrived:
            take, what = self._arrived.popleft()
            take(what)

    def _on_leases(self, leases: list[dict[str, Any]]) -> None:
        for lease in leases:
            if (alone := self._alone.get(lease["key"])) is not None and "token" not in alone and alone.get("outcome") != "drop":
                # A request that can leave was queued beside one that can't, which stands for both.
                alone |= lease
                self._inbox.taken()
                if outcome := alone.get("outcome"):
                    self._outbox.put(Settlement(alone, outcome))
                continue
            try:
                request = requests.load(lease, self.spider, self.config.pickles, self.config.spider)
            except Exception as e:  # of other code: a callback that is gone, a class that moved
                self._keep(lease, e)
                continue
            if until := self._blocked_until(lease, request):  # it was on its way when the host said so
                self._put_back(lease, until)
                continue
            heapq.heappush(self._buffer, (-request.priority, next(self._order), lease, request))

    def _keep(self, lease: dict[str, Any], e: Exception) -> None:
        """Holds the lease of a request that can't be read until the end, and then releases it:
        the code that can read it may come back."""
        logger.error("cannot read the request of %s, which waits for a run that can: %s", lease["url"], e, extra={"spider": self.spider})
        self._count("firstseen/unreadable")
        self._unreadable.append(lease)
        if self._inbox.keep() == _MAX_UNREADABLE:
            self._close_spider(f"{_MAX_UNREADABLE} requests cannot be read", "firstseen_unreadable")

    def _on_answers(self, entries: list[Offer | Settlement]) -> None:
        # Offers first: they were judged before what came with them was settled.
        for entry in sorted(entries, key=lambda e: isinstance(e, Settlement)):
            if isinstance(entry, Settlement):
                self._inbox.settled(entry.lease)
                self._end_alone(entry)
                self._count(f"firstseen/settled/{entry.outcome if entry.answer == 'ok' else entry.answer}")
                if entry.outcome in ("release", "defer") and entry.changes and entry.answer == "ok":
                    self._count("scheduler/enqueued/firstseen")
                    self._count("scheduler/enqueued")
            else:
                self._on_verdict(entry)

    def _end_alone(self, entry: Settlement) -> None:
        """Forgets a request that couldn't leave this process once the daemon knows its outcome. Two kinds stay: those that
        failed, which have no lease in the daemon and must not be tried again here, and those whose URL is queued there too."""
        lease = entry.lease
        lease.pop("lines", None)
        if "token" in lease or not (entry.outcome == "drop" or "beside" in lease):
            for key in lease.get("alone", ()):
                self._alone.pop(key, None)

    def _on_verdict(self, offer: Offer) -> None:
        verdict = offer.verdict or {}
        match verdict["verdict"]:
            case "new" if offer.queued:
                self._count("scheduler/enqueued/firstseen")
                self._count("scheduler/enqueued")
                if (alone := self._alone.get(verdict["key"])) is not None:
                    alone["beside"] = True
            case "new" if verdict["key"] not in self._alone:
                line = {k: v for k, v in offer.line.items() if k != "record"}
                offer.lease.setdefault("key", verdict["key"])
                offer.lease.setdefault("alone", []).append(verdict["key"])
                offer.lease.setdefault("lines", []).append(line)
                self._alone[verdict["key"]] = offer.lease
                self._remember(offer.request, offer.lease)
            case "new" if verdict["key"] in offer.chain:  # known here alone; it has its source's lease until it is
                self._outbox.put(offer.again())
            case "new" | "duplicate":
                self._log_duplicate(offer.request)
                self._dropped(offer)
            case _:
                self._on_refusal(offer, verdict["error"])

    def _on_refusal(self, offer: Offer, error: dict[str, str]) -> None:
        self._count(f"firstseen/refused/{error['code']}")
        if error["code"] == "scheme":
            self._remember(offer.request, offer.lease)  # data:, file:, s3: are not for a frontier
            return
        self._refused[error["code"]] += 1
        logger.debug("firstseen refused %s: %s", offer.request, error["message"], extra={"spider": self.spider})
        self._dropped(offer)

    def _remember(self, request: Request, lease: dict[str, Any]) -> None:
        heapq.heappush(self._memory, (request not in self._logins, -request.priority, next(self._order), lease, request))
        self._count("scheduler/enqueued/memory")
        self._count("scheduler/enqueued")

    def _dropped(self, offer: Offer) -> None:
        if offer.lease:
            self._outbox.put(Settlement(offer.lease, "redirected"))
        self.crawler.signals.send_catch_log(signals.request_dropped, request=offer.request, spider=self.spider)

    def _log_duplicate(self, request: Request) -> None:
        self._count("dupefilter/filtered")
        if self.config.debug:
            logger.debug("Filtered duplicate request: %s", request, extra={"spider": self.spider})
        elif not self._told_duplicate:
            self._told_duplicate = True
            logger.debug("Filtered duplicate request: %s - no more duplicates will be shown"
                         " (see DUPEFILTER_DEBUG to show all duplicates)", request, extra={"spider": self.spider})  # fmt: skip

    def _on_failure(self, e: Exception) -> None:
        self._close_spider(f"{e}; run it again to go on", reason_for(e))

    def _on_idle(self) -> None:
        if self._inbox.state == "limited":
            raise CloseSpider(_LIMITED)

    def _close_spider(self, why: str, reason: str) -> None:
        if not self._failing:
            self._failing = True
            close_spider(self.crawler, why, reason)

    def _client(self) -> Client:
        return Client(self.config.url, self.config.token, self.config.ca_file)

    def _count(self, name: str) -> None:
        self.stats.inc_value(name)


def _queue(lease: dict[str, Any], request: Request) -> str:
    """The queue of a request; without a lease, that of the daemon's profiles by host."""
    return lease.get("queue") or urlsplit(request.url).netloc.rpartition("@")[2]


def _slot(crawler: Crawler) -> Any:
    """The engine's slot: what is in progress, and the call that asks us for more. It
    has no public name, but is the only way to learn that a callback has ended."""
    engine = crawler.engine
    return getattr(engine, "_slot", None) or getattr(engine, "slot", None)


def _loop_caller() -> Callable[[Callable[[], None]], None]:
    """Gives what runs a function in the loop's thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        from twisted.internet import reactor

        return reactor.callFromThread

    def call(f: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(f)
        except RuntimeError:  # the loop is closed: there is no one to notify
            logger.debug("an answer of firstseen came after the end")

    return call
