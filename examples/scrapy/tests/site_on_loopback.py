"""A site on loopback that keeps an access log."""

from __future__ import annotations

import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Access(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    time: float


class Server(ThreadingHTTPServer):
    def handle_error(self, *args: object) -> None:
        """Says nothing of clients that were killed."""


class Site:
    """Pages /p/0 to /p/<n-1>: a tree by threes, and links back in other spellings.

    log holds method, path, body, headers and time of each request, in order of arrival.
    After hold_after of them, answers wait until release; held has their paths.
    """

    def __init__(self, pages: int, delay: float = 0.0):
        self.pages, self.delay = pages, delay
        self.log: list[Access] = []
        self.held: set[str] = set()
        self.hold_after, self._released = float("inf"), threading.Event()
        self._grown = threading.Condition()
        self._server = Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def release(self) -> None:
        self._released.set()

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def fetched(self, agent: str = "") -> Counter[str]:
        """How often each path was asked for, by all or by one user agent."""
        with self._grown:
            return Counter(a.path for a in self.log if agent in ("", a.headers.get("User-Agent")))

    def wait_for(self, requests: int, seconds: float = 300) -> None:
        """Waits until so many requests have come in."""
        with self._grown:
            if not self._grown.wait_for(lambda: len(self.log) >= requests, seconds):
                raise TimeoutError(f"got {len(self.log)} requests; want {requests}")

    def page(self, access: Access) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of a page; tests have their own."""
        n = int(access.path.removeprefix("/p/"))
        links = [f"/p/{k}" for k in range(3 * n + 1, 3 * n + 4) if k < self.pages]
        links += ["/p/0", "/./p/%30#top", f"{self.url.upper().replace('HTTP', 'http')}/p/{n}", f"/p/{n // 2}"]
        return 200, {}, "".join(f"<a href='{link}'>x</a>" for link in links)

    def _handler(site) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                access = Access(self.command, self.path, body, dict(self.headers), time.monotonic())
                with site._grown:
                    site.log.append(access)
                    site._grown.notify_all()
                    if hold := len(site.log) > site.hold_after and not site._released.is_set():
                        site.held.add(access.path)
                if hold:
                    site._released.wait()
                time.sleep(site.delay)
                status, headers, text = site.page(access)
                page = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", "Content-Length": str(len(page)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(page)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *args: object) -> None:
                pass

        return Handler
