"""The daemon's HTTP interface over one kept connection, by the standard library alone."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlsplit

Outcome = Literal["done", "retry", "drop", "release"]


class FirstseenError(Exception):
    """A call that did not succeed."""


class Unavailable(FirstseenError):
    """The daemon can't be reached or can't store: the same call may succeed later."""


class Refused(FirstseenError):
    """The daemon doesn't take this call: it will not take it later either."""


@dataclass(frozen=True)
class Verdict:
    """What the daemon answered about one URL."""

    url: str
    verdict: Literal["new", "duplicate", "refused"]
    key: str = ""
    error: str = ""

    @property
    def new(self) -> bool:
        return self.verdict == "new"


@dataclass(frozen=True)
class Lease:
    """A URL to fetch, for this client alone until the lease ends."""

    url: str
    crawl: str
    key: str
    token: str
    queue: str = ""
    depth: int = 0
    metadata: dict[str, list[str]] = field(default_factory=dict)


class Client:
    """One connection to a daemon. Not safe for concurrent use: give each thread its own."""

    def __init__(self, url: str = "http://127.0.0.1:7072", token: str = "", crawl: str = "DEFAULT", ca_file: str = "", timeout: float = 60):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"cannot use daemon {url!r}; want http://host:port or https://host:port")
        self.url, self.crawl = url, crawl
        self._headers = {"Content-Type": "application/x-ndjson"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._prefix = parts.path.rstrip("/")
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file or None)
            self._conn: http.client.HTTPConnection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
        else:
            self._conn = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._conn.close()

    def offer(self, urls: Iterable[str], depth: int = 0, metadata: dict[str, list[str]] | None = None) -> list[Verdict]:
        """Queues the URLs that are new. What was answered is on disk."""
        more: dict[str, Any] = {"depth": depth} if depth else {}
        if metadata:
            more["metadata"] = metadata
        return self._verdicts("/v1/urls", urls, more)

    def seen(self, urls: Iterable[str]) -> list[Verdict]:
        """Records the URLs as seen and queues none; a new one is "new" once."""
        return self._verdicts("/v1/seen", urls, {})

    def lease(self, max: int = 1, seconds: int = 60) -> list[Lease]:
        """Returns up to max URLs that may be fetched now, and none if all must wait."""
        answer = json.loads(self._call("POST", "/v1/lease", {"crawl": self.crawl, "max": max, "lease_seconds": seconds}))
        return [
            Lease(
                url=base64.b64decode(o["url_bytes"]).decode(errors="surrogateescape") if o.get("url_bytes") else o["url"],
                crawl=o.get("crawl", self.crawl), key=o["key"], token=o["token"], queue=o.get("queue", ""),
                depth=o.get("depth", 0), metadata=o.get("metadata") or {},
            )
            for o in answer["leases"]
        ]  # fmt: skip

    def done(self, leases: Lease | Sequence[Lease], outcome: Outcome = "done") -> list[str]:
        """Ends leases: fetched (done), to be tried again (retry), given up (drop) or given back (release)."""
        many = [leases] if isinstance(leases, Lease) else list(leases)
        body = {"leases": [{"crawl": o.crawl, "key": o.key, "token": o.token, "outcome": outcome} for o in many]}
        answers: list[str] = json.loads(self._call("POST", "/v1/done", body))["answers"]
        return answers

    def stats(self) -> dict[str, Any]:
        """Returns the counts of the crawl: held, seen, in_flight and others."""
        counts: dict[str, Any] = json.loads(self._call("GET", "/v1/stats?crawl=" + quote(self.crawl, safe="")))
        return counts

    def _verdicts(self, path: str, urls: Iterable[str], more: dict[str, Any]) -> list[Verdict]:
        offered = list(urls)
        if not offered:
            return []
        lines = [{**_named(url), "crawl": self.crawl, **more} for url in offered]
        answers = [json.loads(line) for line in self._call("POST", path, *lines).splitlines()]
        if len(answers) != len(offered) or any(a["verdict"] == "failed" for a in answers):
            raise Unavailable(f"got {len(answers)} answers to {len(offered)} URLs, not all stored; offer them again")
        return [
            Verdict(url, a["verdict"], a.get("key", ""), a.get("error", {}).get("message", "")) for url, a in zip(offered, answers)
        ]

    def _call(self, method: str, path: str, *lines: Any) -> bytes:
        body = "".join(json.dumps(line) + "\n" for line in lines).encode() if lines else None
        try:
            self._conn.request(method, self._prefix + path, body, self._headers)
            response = self._conn.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as e:
            self._conn.close()
            raise Unavailable(f"cannot reach firstseen at {self.url}: {e}") from e
        if response.status == 200:
            return text
        message = f"{self.url} answered {response.status}: {text[:300].decode(errors='replace').strip()}"
        raise (Unavailable if response.status == 429 or response.status >= 500 else Refused)(message)


def _named(url: str) -> dict[str, str]:
    """JSON can't carry bytes that aren't UTF-8, which Python reads as surrogates."""
    raw = url.encode(errors="surrogateescape")
    return {"url": url} if raw.decode(errors="ignore") == url else {"url_bytes": base64.b64encode(raw).decode()}
