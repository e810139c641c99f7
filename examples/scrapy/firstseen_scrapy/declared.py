"""What a response says of its content, of its duplicates and to robots, for the daemon to judge the
rules by and to find traps, which never skips a request; and for how long its host is to be left alone.
"""

from __future__ import annotations

import hashlib
import time
from email.utils import mktime_tz, parsedate_tz
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from scrapy.http import Response, TextResponse

_HTML = 65_536  # characters that are searched for a canonical link
_HEAD = {"html", "head", "base", "link", "meta", "noscript", "script", "style", "title"}
_TEXT = 8_192  # bytes of a declaration
_RETRY_AFTER = 86_400.0  # seconds that a host can keep us away, at most


def fetched(response: Response) -> dict[str, Any]:
    """Returns the "fetched" of POST /v1/done."""
    digest = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
    f: dict[str, Any] = {"url": response.url, "status": response.status, "digest": "sha1:" + digest}
    head = _head(response)
    if (link := _canonical(response, head)) and len(link) <= _TEXT:
        f["canonical"] = link
    if _unlisted([v.decode("latin-1") for v in response.headers.getlist("X-Robots-Tag")] + head.robots):
        f["unlisted"] = True
    field = ", ".join(v.decode("latin-1") for v in response.headers.getlist("No-Vary-Search"))
    if field and len(field) <= _TEXT and field.isascii():
        f["no_vary_search"] = field
    return f


def retry_after(response: Response) -> float:
    """Returns for how many seconds a host asks to be left alone, 0 if it doesn't."""
    text, date = (response.headers.get(name, b"").decode("latin-1").strip() for name in ("Retry-After", "Date"))
    if response.status not in (429, 503) or not text:
        return 0
    if text.isascii() and text.isdigit():
        return min(float(text), _RETRY_AFTER)
    at = _seconds(text)
    return min(max(at - (_seconds(date) or time.time()), 0), _RETRY_AFTER) if at else 0  # by the host's own clock


def _seconds(date: str) -> float:
    """Reads a date of HTTP, 0 for what is none."""
    try:
        fields = parsedate_tz(date)
        return mktime_tz(fields) if fields else 0
    except (ValueError, OverflowError):
        return 0


def canonical(response: Response) -> str:
    """Returns the canonical link in the head of a page, "" for none or several."""
    return _canonical(response, _head(response))


def _unlisted(robots: list[str]) -> bool:
    """Whether all robots are asked neither to index a page nor to follow its links."""
    words: set[str] = set()
    for text in robots:
        for word in text.lower().split(","):
            name, colon, _ = word.strip().partition(":")
            if colon and not name.startswith("max-"):  # what follows is for one robot, or a date
                break
            words.add(name)
    return "none" in words or {"noindex", "nofollow"} <= words


def _head(response: Response) -> _Head:
    head = _Head()
    if isinstance(response, TextResponse) and b"html" in response.headers.get("Content-Type", b"text/html"):
        try:
            head.feed(response.text[:_HTML])
        except _End:
            pass
    return head


def _canonical(response: Response, head: _Head) -> str:
    try:
        links = {urljoin(urljoin(response.url, head.base), link) for link in head.links}
    except ValueError:  # no URL
        return ""
    if len(links) != 1 or "" in head.links:
        return ""
    (link,) = links
    return link if link.startswith(("http://", "https://")) and link.isprintable() else ""


class _End(Exception):
    """The head is over."""


class _Head(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.base, self.links, self.robots = "", [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attr = {k: v or "" for k, v in reversed(attrs)}
        if tag not in _HEAD:
            raise _End
        if tag == "base" and not self.base:
            self.base = attr.get("href", "").strip()
        if tag == "link" and "canonical" in attr.get("rel", "").lower().split() and not {"media", "hreflang", "type"} & attr.keys():
            self.links.append(attr.get("href", "").strip())
        if tag == "meta" and attr.get("name", "").lower() == "robots":
            self.robots.append(attr.get("content", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "head":
            raise _End
