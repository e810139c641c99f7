"""Crawls without an address: the daemon is the process's own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from site_on_loopback import Site
from support import PATIENCE, Crawl

PAGES = 150
ALL = {f"/p/{n}" for n in range(PAGES)}


def daemons(directory: str) -> list[str]:
    """The daemons whose store is below a directory."""
    lines = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if "serve --until-eof" in line and directory in line]


class PrivateTest(unittest.TestCase):
    def setUp(self) -> None:
        self.jobdir = self.enterContext(tempfile.TemporaryDirectory())
        self.site = Site(PAGES, delay=0.02)
        self.addCleanup(self.site.close)

    def await_no_daemon(self) -> None:
        until = time.monotonic() + PATIENCE
        while left := daemons(self.jobdir):
            self.assertLess(time.monotonic(), until, f"still there after {PATIENCE} s: {left}")
            time.sleep(0.1)

    def test_killed_and_resumed(self) -> None:
        """The daemon ends with the spider that was killed; the next run fetches the rest."""
        self.site.hold_after = 40
        first = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, USER_AGENT="first")
        self.site.wait_for(41)
        self.assertEqual(len(daemons(self.jobdir)), 1)
        first.kill()
        self.await_no_daemon()
        self.site.release()
        second = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, USER_AGENT="second").wait()
        self.await_no_daemon()
        before, after = self.site.fetched("first"), self.site.fetched("second")
        self.assertIn("Resuming crawl 'tree'", second.log())
        self.assertEqual((before | after).keys(), ALL)
        self.assertEqual({*before.values(), *after.values()}, {1})
        twice = before.keys() & after.keys()
        self.assertLessEqual(len(twice), 2 * 16, "more than were being fetched when it was killed")
        print(f"private daemon: killed after {len(before)} of {PAGES} pages; requested twice: {len(twice)},"
              f" of them answered before the kill: {len(twice - self.site.held)}")  # fmt: skip

    def test_killed_with_one_page_at_risk(self) -> None:
        """Each page that the site answered is in its log once: only the one whose answer was cut
        off is requested again."""
        self.site.hold_after = 40
        first = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, FIRSTSEEN_AT_RISK=1, USER_AGENT="first")
        self.site.wait_for(41)
        first.kill()
        self.site.release()
        Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, USER_AGENT="second").wait()
        before, after = self.site.fetched("first"), self.site.fetched("second")
        self.assertEqual(len(before), 41)
        self.assertEqual((before | after).keys(), ALL)
        self.assertEqual({*before.values(), *after.values()}, {1})
        self.assertEqual(before.keys() & after.keys(), self.site.held)
        self.assertEqual(len(self.site.held), 1)

    def test_terminated(self) -> None:
        """SIGTERM settles the pages that were fetched: each is in the log once."""
        self.site.hold_after = 40  # so that it is not done before the signal comes
        first = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, USER_AGENT="first")
        self.site.wait_for(41)
        first.terminate()
        self.site.release()
        first.wait()
        self.assertIn("shutdown", first.log())
        self.await_no_daemon()
        self.assertLess(len(self.site.fetched("first")), PAGES)
        Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir).wait()
        self.assertEqual(self.site.fetched(), dict.fromkeys(ALL, 1))

    def test_interrupted(self) -> None:
        """An orderly end settles all: each page is fetched once."""
        Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir, CLOSESPIDER_PAGECOUNT=40).wait()
        self.await_no_daemon()
        Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir).wait()
        self.assertEqual(set(self.site.fetched()), ALL)
        self.assertEqual({path for path, n in self.site.fetched().items() if n > 1}, set())

    def test_only_the_owner_has_the_token(self) -> None:
        self.site.hold_after = 5
        Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir)
        self.site.wait_for(6)
        directory = Path(self.jobdir, "firstseen")
        self.assertEqual({os.stat(directory / name).st_mode & 0o777 for name in ("token", "tokens")}, {0o600})
        (serving,) = [e for e in map(json.loads, (directory / "daemon.log").read_text().splitlines()) if e["msg"] == "serving"]
        answer = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://{serving['http']}/v1/stats"],
                                capture_output=True, text=True, check=True)  # fmt: skip
        self.assertEqual(answer.stdout, "401")
        self.site.release()

    def test_second_process_is_refused(self) -> None:
        self.site.hold_after = 5
        first = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir)
        self.site.wait_for(6)
        second = Crawl(self, "tree", self.site.url, JOBDIR=self.jobdir).wait()
        self.assertIn("set FIRSTSEEN_URL", second.log())
        self.site.release()
        first.kill()
        self.await_no_daemon()


if __name__ == "__main__":
    unittest.main()
