"""What a response says of its content and of its duplicates, for the daemon to judge the
rules by. It never skips a request because of it.
"""

from __future__ import annotations

import hashlib
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from scrapy.http import Response, TextResponse

_HTML = 65_536  # characters that are searched for a canonical link
_HEAD = {"html", "head", "base", "link", "meta", "noscript", "script", "style", "title"}
_TEXT = 8_192  # bytes of a declaration


def fetched(response: Response) -> dict[str, Any]:
    """Returns the "fetched" of POST /v1/done."""
    digest = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
    f: dict[str, Any] = {"url": response.url, "status": response.status, "digest": "sha1:" + digest}
    if (link := canonical(response)) and len(link) <= _TEXT:
        f["canonical"] = link
    field = ", ".join(v.decode("latin-1") for v in response.headers.getlist("No-Vary-Search"))
    if field and len(field) <= _TEXT and field.isascii():
        f["no_vary_search"] = field
    return f


def canonical(response: Response) -> str:
    """Returns the canonical link in the head of a page, "" for none or several."""
    if not isinstance(response, TextResponse) or b"html" not in response.headers.get("Content-Type", b"text/html"):
        return ""
    head = _Head()
    try:
        head.feed(response.text[:_HTML])
    except _End:
        pass
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
        self.base, self.links = "", []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attr = {k: v or "" for k, v in reversed(attrs)}
        if tag not in _HEAD:
            raise _End
        if tag == "base" and not self.base:
            self.base = attr.get("href", "").strip()
        if tag == "link" and "canonical" in attr.get("rel", "").lower().split() and not {"media", "hreflang", "type"} & attr.keys():
            self.links.append(attr.get("href", "").strip())

    def handle_endtag(self, tag: str) -> None:
        if tag == "head":
            raise _End
