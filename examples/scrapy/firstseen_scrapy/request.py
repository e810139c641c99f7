"""Requests as text that any process of the same project can take up.

The form is that of Request.to_dict, without the URL, which the daemon keeps, and
without what is at its default. It is JSON; what JSON has no word for is an object with
one member whose name begins with "$":

    {"$b": base64}  bytes     {"$t": [...]}  tuple     {"$s": [...]}  set
    {"$d": [[key, value], ...]}  a dict whose keys aren't plain strings

Anything else can't be written. Pickle takes more, but whoever can write to the daemon
could then run code in the crawler, so it must be asked for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import secrets
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

JSON, PICKLE, SPIDER = "scrapy", "scrapy-pickle", "spider"

_DEFAULTS: dict[str, Any] = {
    "callback": None, "errback": None, "method": "GET", "headers": {}, "body": b"", "cookies": {}, "meta": {},
    "encoding": "utf-8", "priority": 0, "dont_filter": False, "flags": [], "cb_kwargs": {},
}  # fmt: skip


class Unserializable(ValueError):
    """A request holds what can't be written down."""


class Foreign(ValueError):
    """A request is of another spider."""


def dump(request: Request, spider: Spider, pickles: bool = False, name: str = "") -> dict[str, list[str]]:
    """The metadata that stands for a request of the spider, by another name if one is given. Raises Unserializable."""
    try:
        d = request.to_dict(spider=spider)
        url = d.pop("url")
        assert url == request.url
        d = {k: v for k, v in d.items() if k not in _DEFAULTS or v != _DEFAULTS[k]}
        of = {SPIDER: [name or spider.name]}
        if pickles:
            return {PICKLE: [base64.b64encode(pickle.dumps(d, protocol=4)).decode()], **of}
        text = json.dumps(_plain(d), ensure_ascii=False, separators=(",", ":"))
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            text = json.dumps(json.loads(text), separators=(",", ":"))
        return {JSON: [text], **of}
    except Exception as e:  # pickle raises anything
        raise Unserializable(f"cannot write {request}: {e}") from e


def load(lease: dict[str, Any], spider: Spider, pickles: bool = False, name: str = "") -> Request:
    """The request of a lease. A URL that another program queued is a plain GET."""
    metadata = lease.get("metadata") or {}
    if metadata.get(SPIDER, own := [name or spider.name]) != own:
        raise Foreign(f"it is of the spider {metadata[SPIDER]}")
    if JSON in metadata:
        d = _rich(json.loads(metadata[JSON][0]))
    elif PICKLE in metadata:
        if not pickles:
            raise Unserializable('cannot read request; got pickle; want FIRSTSEEN_SERIALIZER = "pickle" for that')
        d = pickle.loads(base64.b64decode(metadata[PICKLE][0]))
    else:
        d = {"meta": {"depth": lease.get("depth", 0), "firstseen_metadata": metadata}}
    return request_from_dict({**d, "url": lease["url"]}, spider=spider)


def discriminator(request: Request) -> str:
    """What beside its URL makes a request itself: method and body, if not a bare GET."""
    own = request.meta.get("firstseen_discriminator", "")
    if request.method == "GET" and not request.body:
        return own
    return f"{request.method} {hashlib.sha1(request.body, usedforsecurity=False).hexdigest()} {own}".rstrip()


def unique(base: str) -> str:
    """A discriminator that no other request has."""
    return f"{base} {secrets.token_hex(8)}".lstrip()


def level(priority: int) -> int:
    """The daemon has eight levels of priority, 0 to 7; Scrapy's 0 is 3."""
    n = abs(priority)
    steps = (n >= 1) + (n >= 2) + (n >= 10) + (n >= 100)
    return max(3 - steps, 0) if priority < 0 else 3 + steps


def _plain(v: Any) -> Any:
    if v is None or type(v) in (str, bool, int, float):
        return v
    if isinstance(v, bytes):
        return {"$b": base64.b64encode(v).decode()}
    if type(v) is list:
        return [_plain(x) for x in v]
    if type(v) is tuple:
        return {"$t": [_plain(x) for x in v]}
    if type(v) is set:
        return {"$s": [_plain(x) for x in v]}
    if isinstance(v, dict):
        if all(type(k) is str and not k.startswith("$") for k in v):
            return {k: _plain(x) for k, x in v.items()}
        return {"$d": [[_plain(k), _plain(x)] for k, x in v.items()]}
    raise Unserializable(f"got {type(v).__name__}; want what JSON can hold, bytes, a tuple or a set")


def _rich(v: Any) -> Any:
    if isinstance(v, list):
        return [_rich(x) for x in v]
    if not isinstance(v, dict):
        return v
    if len(v) == 1:
        (name, x), = v.items()
        if name == "$b":
            return base64.b64decode(x)
        if name == "$t":
            return tuple(_rich(i) for i in x)
        if name == "$s":
            return {_rich(i) for i in x}
        if name == "$d":
            return {_rich(k): _rich(i) for k, i in x}
    return {k: _rich(x) for k, x in v.items()}
