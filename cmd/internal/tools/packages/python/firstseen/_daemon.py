"""A daemon of one's own: it ends with the process that started it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

from ._client import Client, Unavailable


def binary() -> str:
    """Returns the path of the program: FIRSTSEEN_BIN, or the one that came with this package."""
    if named := os.environ.get("FIRSTSEEN_BIN"):
        return named
    name = "firstseen.exe" if os.name == "nt" else "firstseen"
    for scheme in (None, f"{os.name}_user"):
        try:
            scripts = sysconfig.get_path("scripts") if scheme is None else sysconfig.get_path("scripts", scheme)
        except KeyError:
            continue
        if os.access(os.path.join(scripts, name), os.X_OK):
            return os.path.join(scripts, name)
    if found := shutil.which(name):
        return found
    raise FileNotFoundError("cannot find the program firstseen; install the package firstseen for this platform, or set FIRSTSEEN_BIN")


class Daemon:
    """`firstseen serve` on a port of its own, with its store in a directory.

    It ends when close is called, and within seconds when this process ends in any way, as it
    reads a pipe that only this process writes to. Only those who can read the directory can
    use it: it asks for a random token, which is in the file `token` there.
    """

    def __init__(self, directory: str | os.PathLike[str], *flags: str, patience: float = 60):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.token = secrets.token_urlsafe(32)
        tokens = self.directory / "tokens"
        _write_private(self.directory / "token", self.token)
        _write_private(tokens, f"admin {self.token}\n")
        self.log = self.directory / "daemon.log"
        command = [
            binary(), "serve", "--until-eof", "--db", str(self.directory / "db"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
            "--tokens", str(tokens), "--log-format", "json", *flags,
        ]  # fmt: skip
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
        try:
            self.url = self._await_address(patience)
        except BaseException:
            self.close()
            raise

    def client(self, crawl: str = "DEFAULT", timeout: float = 60) -> Client:
        return Client(self.url, self.token, crawl, timeout=timeout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self, seconds: float = 30) -> None:
        """Ends the daemon after it answered its calls, and waits for that."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_address(self, patience: float) -> str:
        """Reads the port that the system chose from the log."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            ended = self._process.poll() is not None
            for line in self.log.read_bytes().splitlines():
                entry = _json(line)
                if entry.get("msg") == "serving":
                    return f"http://{entry['http']}"
            if ended:
                break
            time.sleep(0.02)
        tail = self.log.read_text(errors="replace")[-1000:].strip()
        raise Unavailable(f"cannot start a daemon in {self.directory}: {tail or 'it does not answer'}")


def _json(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
        f.write(text)
