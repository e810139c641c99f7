"""The daemon's HTTP interface over one kept connection, by the standard library alone."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import quote, urlsplit


_TLS_ENDED = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)  # as when a daemon goes away

# What helps, by the status of an answer.
_REMEDIES = {
    401: "; FIRSTSEEN_TOKEN must be a token of this daemon",
    403: "; FIRSTSEEN_TOKEN must be a token of scope write for this crawl",
    404: "; FIRSTSEEN_URL must be the HTTP address of a `firstseen serve`",
}


class Unavailable(Exception):
    """The daemon can't be reached or can't store: the same call may work later.

    maybe_done says that the call may have been carried out all the same.
    """

    def __init__(self, message: str, maybe_done: bool = False):
        super().__init__(message)
        self.maybe_done = maybe_done


class Refused(Exception):
    """The daemon wants no such call: it will not work later either."""


class Client:
    """One connection. Not safe for concurrent use: each thread has its own."""

    def __init__(self, url: str, token: str = "", ca_file: str = "", timeout: float = 60):
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # of the port
            usable = False
        if not usable:
            raise Refused(f"FIRSTSEEN_URL: cannot use {url!r}; want host:port, http://host:port or https://host:port")
        self._url, self._prefix, self._reached = url, parts.path.rstrip("/"), False
        self._headers = {"Content-Type": "application/x-ndjson"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if parts.scheme == "https":
            try:
                context = ssl.create_default_context(cafile=ca_file or None)
            except OSError as e:  # an ssl.SSLError is one
                raise Refused(f"FIRSTSEEN_CA_FILE: cannot read certificates from {ca_file!r}: {e.strerror or e}") from None
            self._conn: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout, context=context
            )
        else:
            self._conn = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def close(self) -> None:
        self._conn.close()

    def urls(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Queues new URLs; returns a verdict for each line."""
        return self._lines("/v1/urls?brief", lines)

    def seen(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Record as seen and queue nothing; a verdict for each line."""
        return self._lines("/v1/seen?brief", lines)

    def lease(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._json("POST", "/v1/lease", body)

    def settle(self, leases: list[dict[str, Any]]) -> list[str]:
        answers = self._json("POST", "/v1/done", {"leases": leases})["answers"]
        if len(answers) != len(leases):
            raise Unavailable(f"got {len(answers)} answers to {len(leases)} leases", maybe_done=True)
        return answers

    def stats(self, crawl: str) -> dict[str, Any]:
        return self._json("GET", "/v1/stats?crawl=" + quote(crawl, safe=""))

    def fullest_queue(self, crawl: str) -> dict[str, Any]:
        """The queue with most URLs that wait, and what holds it; empty if none waits."""
        queues = self._json("GET", "/v1/queues?order=waiting&limit=1&crawl=" + quote(crawl, safe=""))["queues"]
        return queues[0] if queues else {}

    def find(self, crawl: str, limit: int) -> list[dict[str, Any]]:
        """Some URLs of a crawl whose text is kept, with their metadata."""
        text = self._call("GET", f"/v1/urls?limit={limit}&crawl=" + quote(crawl, safe=""), None)
        return [json.loads(line) for line in text.splitlines()]

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        text = self._call(method, path, None if body is None else json.dumps(body).encode())
        try:
            return json.loads(text)
        except ValueError:
            raise Refused(f"{self._url} does not answer as `firstseen serve` does; is it the address of its HTTP interface?") from None

    def _lines(self, path: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        text = self._call("POST", path, "".join(json.dumps(line) + "\n" for line in lines).encode())
        verdicts = [json.loads(line) for line in text.splitlines()]
        if len(verdicts) != len(lines) or any(v["verdict"] == "failed" for v in verdicts):
            raise Unavailable(f"got {len(verdicts)} answers to {len(lines)} lines, not all stored", maybe_done=True)
        return verdicts

    def _call(self, method: str, path: str, body: bytes | None) -> bytes:
        sent = False
        try:
            if self._conn.sock is None:
                self._conn.connect()
            sent = True
            self._conn.request(method, self._prefix + path, body, self._headers)
            response = self._conn.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as e:
            self._conn.close()
            if isinstance(e, ssl.SSLCertVerificationError):
                raise Refused(f"cannot trust the certificate of {self._url}: {e.verify_message}; FIRSTSEEN_CA_FILE names a file of roots") from None
            if isinstance(e, ssl.SSLError) and not isinstance(e, _TLS_ENDED):
                raise Refused(f"cannot speak TLS with {self._url}: {e}; a daemon without --tls-cert is at http://") from None
            remedy = "" if self._reached else "; is it the address of the HTTP interface?"
            if isinstance(e, ConnectionRefusedError):
                remedy = "; is `firstseen serve` running there?"
            raise Unavailable(f"cannot reach firstseen at {self._url}: {e}{remedy}", maybe_done=sent) from e
        self._reached = True
        return self._checked(response.status, text)

    def _checked(self, status: int, text: bytes) -> bytes:
        if status == 200:
            return text
        message = f"{self._url} answered {status}: {text[:300].decode(errors='replace').strip()}"
        if status in (429, 503, 504, 507) or status >= 500:
            raise Unavailable(message)
        raise Refused(message + _REMEDIES.get(status, ""))
