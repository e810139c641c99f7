"""A daemon, and crawls as processes of their own, so that both can be killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE / "project"
PATIENCE = 300  # seconds, after which something counts as hanging; a busy machine may take some


def free_port(case: unittest.TestCase) -> int:
    """A free port, below those that systems use for connections: one of
    those may be taken before it is used, or while its daemon is down. The UDP port of the
    same number is held during the test, so that no other caller gets it."""
    while True:
        port = random.randrange(20_000, 32_000)
        held = socket.socket(type=socket.SOCK_DGRAM)
        try:
            held.bind(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)):
                case.addCleanup(held.close)
                return port
        except OSError:
            held.close()


class Daemon:
    """`firstseen serve` on ports of its own. FIRSTSEEN_BIN names the program."""

    def __init__(self, case: unittest.TestCase, directory: str, *flags: str):
        self._db = os.path.join(directory, "db")
        self.url = f"http://127.0.0.1:{free_port(case)}"
        self._flags = ["--grpc", f"127.0.0.1:{free_port(case)}", "--http", self.url[len("http://") :], "--min-free", "-1", *flags]
        self.start()

    def start(self) -> None:
        program = os.environ.get("FIRSTSEEN_BIN", "firstseen")
        self._process = subprocess.Popen(
            [program, "serve", "--db", self._db, *self._flags], stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < until:
            try:
                urllib.request.urlopen(self.url + "/healthz", timeout=5).read()
                return
            except OSError:
                time.sleep(0.05)
        status = self._process.poll()
        self.kill()
        raise TimeoutError(f"the daemon does not answer; its exit status is {status}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def state(self, crawl: str, url: str) -> str:
        """seen, queued, leased, done, or nothing."""
        query = urllib.parse.urlencode({"crawl": crawl, "url": url})
        with urllib.request.urlopen(f"{self.url}/v1/explain?{query}", timeout=PATIENCE) as answer:
            return json.load(answer).get("known", {}).get("state", "")

    def stats(self, crawl: str) -> dict:
        with urllib.request.urlopen(f"{self.url}/v1/stats?crawl={crawl}", timeout=PATIENCE) as answer:
            return json.load(answer)


class Crawl:
    """`scrapy crawl SPIDER` under way. Its log and its items are files."""

    def __init__(self, case: unittest.TestCase, spider: str, site: str, **settings: object):
        directory = case.enterContext(tempfile.TemporaryDirectory())
        self.items_file = os.path.join(directory, "items.jsonl")
        self._log = os.path.join(directory, "log")
        command = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"site={site}", "-o", self.items_file]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(command, cwd=PROJECT, stderr=log)
        case.addCleanup(self.kill)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        """Asks it to end, as Ctrl-C does."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = PATIENCE) -> Crawl:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the crawl does not end:\n{self.log()[-4000:]}") from None
        return self

    def status(self) -> int:
        return self._process.returncode

    def log(self) -> str:
        return Path(self._log).read_text(errors="replace")

    def items(self) -> list[dict]:
        try:
            return [json.loads(line) for line in Path(self.items_file).read_text().splitlines()]
        except FileNotFoundError:  # killed before the first
            return []


def await_that(true: Callable[[], bool], seconds: float = PATIENCE) -> float:
    """Waits for something that is not so yet, and returns a time shortly before it."""
    until, before = time.monotonic() + seconds, None
    while (asked := time.monotonic()) < until:
        if true():
            if before is None:
                raise AssertionError("it was so at once; since when is not known")
            return before
        before = asked
        time.sleep(0.005)
    raise TimeoutError("it did not happen")


class CrawlCase(unittest.TestCase):
    """A test with a daemon of its own."""

    def flags(self) -> list[str]:
        """More flags for the daemon."""
        return []

    def setUp(self) -> None:
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.daemon = Daemon(self, self.directory, *self.flags())
        self.addCleanup(self.daemon.kill)

    def crawl(self, spider: str, site: str, **settings: object) -> Crawl:
        return Crawl(self, spider, site, FIRSTSEEN_URL=self.daemon.url, **settings)

    def assert_each_page_once(self, fetched: dict[str, int], pages: int, except_for: set[str] = frozenset()) -> None:
        self.assertEqual(set(fetched), {f"/p/{n}" for n in range(pages)})
        twice = {path for path, n in fetched.items() if n > 1}
        self.assertLessEqual(twice, set(except_for))
