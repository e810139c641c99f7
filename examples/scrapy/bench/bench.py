"""What a request costs: Scrapy's in-memory filter, scrapy-redis and firstseen, in one run.

Each crawl is a process of its own, with all of Scrapy but the network: pages are made
by a download handler. A page yields LINKS requests, of which one in LINKS is new, as
in real crawls, so that PAGES * LINKS requests are offered and PAGES fetched. Rounds
are interleaved; the median of each is told, and what it is above Scrapy's own.

    python bench.py --firstseen ../../../bin/firstseen [--pages 2000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINKS = 20

# Name, the server it needs, settings.
RIVALS: list[tuple[str, str, dict[str, object]]] = [
    ("scrapy, in memory", "", {}),
    ("scrapy, JOBDIR", "", {"JOBDIR": "{dir}/job"}),
    ("scrapy-redis, no fsync", "redis", {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True, "REDIS_URL": "redis://127.0.0.1:{port}"}),
    ("scrapy-redis, fsync", "redis --appendonly yes --appendfsync always", {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True, "REDIS_URL": "redis://127.0.0.1:{port}"}),
    ("firstseen scheduler", "firstseen", {"SCHEDULER": "firstseen_scrapy.Scheduler", "FIRSTSEEN_URL": "http://127.0.0.1:{port}"}),
    ("firstseen filter alone", "firstseen", {
        "DUPEFILTER_CLASS": "firstseen_scrapy.DupeFilter", "FIRSTSEEN_URL": "http://127.0.0.1:{port}"}),
]  # fmt: skip


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--firstseen", required=True)
    p.add_argument("--pages", type=int, default=2000)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", default="")
    args = p.parse_args()
    rivals = [r for r in RIVALS if args.only in r[0] and (not r[1].startswith("redis") or shutil.which("redis-server"))]
    results: dict[str, list[dict[str, float]]] = {name: [] for name, _, _ in rivals}
    for _ in range(args.rounds):
        for name, server, settings in rivals:
            results[name].append(measure(server, settings, args))
    table(results, args.pages)


def table(results: dict[str, list[dict[str, float]]], pages: int) -> None:
    offered = pages * LINKS
    print(f"{offered} requests offered, {pages} fetched; microseconds a request offered, median of rounds\n")
    print(f"{'':26}{'wall':>8}{'crawler CPU':>13}{'server CPU':>12}{'above memory, wall':>20}{'CPU, all':>10}{'MB':>7}")
    base: dict[str, float] = {}
    for name, rounds in results.items():
        m = {k: statistics.median(r[k] for r in rounds) for k in rounds[0]}
        us = {k: m[k] / offered * 1e6 for k in ("wall", "cpu", "server")}
        base = base or us
        wall = us["wall"] - base["wall"]
        cpu = us["cpu"] + us["server"] - base["cpu"] - base["server"]
        print(f"{name:26}{us['wall']:8.0f}{us['cpu']:13.0f}{us['server']:12.0f}{wall:20.0f}{cpu:10.0f}{m['rss']:7.0f}")


def measure(server: str, settings: dict[str, object], args: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        process = start(server, port, directory, args)
        try:
            values = {k: v.format(port=port, dir=directory) if isinstance(v, str) else v for k, v in settings.items()}
            command = [sys.executable, str(Path(__file__).with_name("crawl.py")), str(args.pages), str(LINKS), json.dumps(values)]
            before = cpu_of(process)
            out = subprocess.run(command, check=True, capture_output=True, text=True)
            result = json.loads(out.stdout)
            result["server"] = cpu_of(process) - before
            if result["fetched"] < args.pages:
                raise RuntimeError(f"fetched {result['fetched']} of {args.pages} pages:\n{out.stderr[-2000:]}")
            return result
        finally:
            if process:
                process.terminate()
                process.wait()


def start(server: str, port: int, directory: str, args: argparse.Namespace) -> subprocess.Popen | None:
    name, *flags = server.split() or [""]
    if not name:
        return None
    if name == "redis":
        command = ["redis-server", "--port", str(port), "--dir", directory, "--bind", "127.0.0.1", *flags]
    else:
        command = [args.firstseen, "serve", "--db", directory + "/db", "--min-free", "-1",
                   "--http", f"127.0.0.1:{port}", "--grpc", f"127.0.0.1:{free_port()}"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    raise TimeoutError(f"{name} does not answer")


def cpu_of(process: subprocess.Popen | None) -> float:
    """User and system seconds of a process so far."""
    if process is None:
        return 0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
