"""Crawls the hosts of some URLs with firstseen serve: python3 crawl.py URL...
The daemon decides what is new, what may be fetched now and when a host is to be left
alone; this script fetches. Run several, kill them and start them again: they share the
crawl. FIRSTSEEN names the daemon, by default http://127.0.0.1:7072.
"""
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from urllib import error, parse, request

DAEMON = os.environ.get("FIRSTSEEN", "http://127.0.0.1:7072")


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [v for k, v in attrs if tag == "a" and k == "href" and v]


class NoRedirect(request.HTTPRedirectHandler):
    redirect_request = lambda *args: None  # the daemon decides


def ask(path, *values):
    """Posts JSON, a line for each value, and returns the lines of the answer."""
    body = "\n".join(map(json.dumps, values)).encode()
    with request.urlopen(DAEMON + path, body, timeout=60) as answer:
        return [json.loads(line) for line in answer]


def visit(lease, hosts):
    """Fetches a page, offers its links, and says what became of it."""
    named = {k: lease[k] for k in ("crawl", "key", "token")}
    try:
        with request.build_opener(NoRedirect).open(lease["url"], timeout=30) as page:
            links = Links()
            if page.headers.get_content_type() == "text/html":
                links.feed(page.read(1 << 22).decode(errors="replace"))
    except error.HTTPError as e:
        if 300 <= e.code < 400 and "Location" in e.headers:
            target = parse.urljoin(lease["url"], e.headers["Location"])
            followed = ask("/v1/redirect", {**named, "queue": lease["queue"], "url": lease["url"], "target": target})[0].get("follow")
            return visit(followed, hosts) if followed else None  # another page is queued like a link
        return {**named, "outcome": "retry" if e.code >= 500 or e.code == 429 else "done"}
    except OSError:
        return {**named, "outcome": "retry"}
    found = [parse.urljoin(lease["url"], link) for link in links.found]
    ask("/v1/urls", *({"url": u, "depth": lease.get("depth", 0) + 1} for u in found if parse.urlsplit(u).hostname in hosts))
    print("fetched", lease["url"], flush=True)
    return {**named, "outcome": "done"}


hosts = {parse.urlsplit(u).hostname for u in sys.argv[1:]}
ask("/v1/urls", *({"url": u} for u in sys.argv[1:]))
with ThreadPoolExecutor(10) as pool:  # one URL a host is out at a time, so these are ten hosts
    while not (answer := ask("/v1/lease", {"max": 10, "wait_seconds": 20, "lease_seconds": 120})[0]).get("finished"):
        ask("/v1/done", {"leases": [done for done in pool.map(lambda lease: visit(lease, hosts), answer["leases"]) if done]})
