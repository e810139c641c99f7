"""Crawls the hosts of some URLs with firstseen serve: python3 crawl.py URL...
The daemon decides what is new, what may be fetched now and when a host is left alone; this script fetches.
Run several, kill them and start them again: they share the crawl that FIRSTSEEN_CRAWL names, by default DEFAULT,
and leave others alone. FIRSTSEEN names the daemon, by default http://127.0.0.1:7072, and FIRSTSEEN_CLIENT this process, for "firstseen free"."""
import base64, hashlib, json, os, signal, string, sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from urllib import error, parse, request

DAEMON, CRAWL = os.environ.get("FIRSTSEEN", "http://127.0.0.1:7072"), os.environ.get("FIRSTSEEN_CRAWL", "DEFAULT")


class Links(HTMLParser):
    found = ()
    def handle_starttag(self, tag, attrs):
        self.found += tuple(v for k, v in attrs if tag == "a" and k == "href" and v)


class NoRedirect(request.HTTPRedirectHandler):
    redirect_request = lambda *args: None  # the daemon decides


def ask(path, *values):
    """Posts JSON, a line for each value, and returns the lines of the answer."""
    body = "\n".join(map(json.dumps, values)).encode()
    with request.urlopen(DAEMON + path, body, timeout=60) as answer:
        return [json.loads(line) for line in answer]


def offer(urls, depth=0):
    """Offers URLs. Each must be answered: one that wasn't stored may be offered again."""
    lines = [{**named_url(u), "crawl": CRAWL, "depth": depth} for u in urls]
    answers = ask("/v1/urls", *lines)
    if len(answers) != len(lines) or any(a["verdict"] == "failed" for a in answers):
        raise RuntimeError(f"not all of {len(lines)} URLs were stored: {answers[-1:]}")
    for url, a in zip(urls, answers):
        if a["verdict"] == "refused":
            print("refused", ascii(url), a["error"]["message"], file=sys.stderr, flush=True)


def named_url(url):
    """JSON can't carry bytes that aren't UTF-8, which Python reads as surrogates."""
    raw = url.encode(errors="surrogateescape")
    return {"url": url} if raw.decode(errors="ignore") == url else {"url_bytes": base64.b64encode(raw).decode()}


def on_host(url, link):
    """Returns the URL of a link, and whether it is on the same host."""
    try:
        target = parse.urljoin(url, link)
        return target, parse.urlsplit(target).hostname == parse.urlsplit(url).hostname
    except ValueError:  # no URL
        return link, False


def visit(lease):
    """Fetches a page, offers its links to the same host, and reports the result and what audits of rules need."""
    named = {k: lease[k] for k in ("crawl", "key", "token")}
    url = parse.quote(base64.b64decode(lease["url_bytes"]) if "url_bytes" in lease else lease["url"], safe=string.punctuation)
    try:
        with request.build_opener(NoRedirect).open(url, timeout=30) as page:
            links, body = Links(), page.read(1 << 22)
            if page.headers.get_content_type() == "text/html":
                links.feed(body.decode(errors="replace"))
            fetched = {"url": url, "status": page.status, "digest": "sha1:" + hashlib.sha1(body).hexdigest(),
                       "no_vary_search": page.headers.get("No-Vary-Search", "")}
    except error.HTTPError as e:
        if 300 <= e.code < 400 and "Location" in e.headers:
            target, same = on_host(url, e.headers["Location"])
            if not same and lease.get("depth"):  # only a seed may lead to another host
                return {**named, "outcome": "done"}
            page = {k: lease[k] for k in ("queue", "url", "url_bytes") if k in lease}
            followed = ask("/v1/redirect", {**named, **page, "target": target})[0].get("follow")
            return visit(followed) if followed else None  # another page is queued like a link
        return {**named, "outcome": "retry" if e.code >= 500 or e.code == 429 else "drop", "fetched": {"url": url, "status": e.code}}
    except OSError:
        return {**named, "outcome": "retry"}
    offer([u for u, same in (on_host(url, link) for link in links.found) if same], lease.get("depth", 0) + 1)
    print("fetched", lease["url"], flush=True)
    return {**named, "outcome": "done", "fetched": fetched}


signal.signal(signal.SIGINT, lambda *_: os._exit(print(f"interrupted: run it again to go on with crawl {CRAWL}", flush=True) or 130))
offer(sys.argv[1:])
end = {}
with ThreadPoolExecutor(10) as pool:  # one URL a host is out at a time, so these are ten hosts
    while not end.get("finished") and end.get("state") != "limited":
        ask("/v1/done", {"leases": [done for done in pool.map(visit, end.get("leases", [])) if done]})
        end = ask("/v1/lease", {"crawl": CRAWL, "client": os.environ.get("FIRSTSEEN_CLIENT", ""), "max": 10, "wait_seconds": 20, "lease_seconds": 120})[0]
print("finished: nothing is left in crawl" if end.get("finished") else "limited: some URLs wait in crawl", CRAWL, flush=True)
