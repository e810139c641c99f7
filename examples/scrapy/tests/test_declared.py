"""What is reported of a response."""

from __future__ import annotations

import unittest

from scrapy.http import HtmlResponse, Response

from firstseen_scrapy.declared import canonical, fetched, retry_after


class DeclaredTest(unittest.TestCase):
    def canonical(self, body: str) -> str:
        return canonical(HtmlResponse("http://a.example/d/p?x=1", body=body.encode(), encoding="utf-8"))

    def test_canonical(self) -> None:
        for body, want in {
            "<base href='/e/'><link rel='x Canonical' href=' p'>": "http://a.example/e/p",
            "<link rel=canonical href=/x><link rel=canonical href=/x>": "http://a.example/x",
            "<link rel=canonical href=/x><link rel=canonical href=/y>": "",
            "<link rel=canonical href=''>": "",
            "<link rel=canonical hreflang=de href=/x>": "",
            "<link rel=canonical href=javascript:x>": "",
            "<link rel=canonical href='http://[x/'>": "",
            "</head><link rel=canonical href=/x>": "",
            "<p><link rel=canonical href=/x>": "",
            "": "",
        }.items():
            self.assertEqual(self.canonical(body), want, body)

    def test_fetched(self) -> None:
        response = Response("http://a.example/x", status=404, headers={"No-Vary-Search": ["key-order", 'params=("a")']})
        want = {"url": "http://a.example/x", "status": 404, "digest": "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
                "no_vary_search": 'key-order, params=("a")'}  # fmt: skip
        self.assertEqual(fetched(response), want)

    def test_retry_after(self) -> None:
        at, day = "Sat, 28 Nov 2026 17:00:30 GMT", "Sat, 28 Nov 2026 17:00:00 GMT"
        for status, text, date, want in [
            (429, "2", "", 2), (503, " 120 ", "", 120), (503, "9" * 5000, "", 86400), (429, at, day, 30), (429, day, at, 0), (429, "Thu, 01 Jan 2099 00:00:00 GMT", "", 86400),
            (200, "2", "", 0), (500, "2", "", 0), (429, "", day, 0), (429, "-1", "", 0), (429, "soon", "", 0), (429, "\u0662", "", 0), (429, "Sat, 99 Nov 99999 17:00:30 GMT", "", 0),
        ]:  # fmt: skip
            response = Response("http://a.example/x", status=status, headers={"Retry-After": text, "Date": date})
            self.assertEqual(retry_after(response), want, (status, text, date))

    def test_unlisted(self) -> None:
        for header, meta, want in [
            ("noindex, nofollow", "", True), ("", "NoIndex,NOFOLLOW, max-snippet:-1", True), ("noindex", "nofollow", True), ("none", "", True),
            ("noindex", "", False), ("otherbot: noindex, nofollow", "", False), ("", "index, follow", False), ("", "", False),
        ]:  # fmt: skip
            body = f"<head><meta name=Robots content='{meta}'></head>".encode()
            response = HtmlResponse("http://a.example/x", body=body, headers={"X-Robots-Tag": header})
            self.assertEqual(fetched(response).get("unlisted", False), want, (header, meta))
