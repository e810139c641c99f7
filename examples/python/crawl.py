"""Crawls the hosts of some URLs with firstseen serve: python3 crawl.py URL...
The daemon decides what is new, what may be fetched now and when a host is left alone; this script fetches.
Run several, kill them and start them again: they share the crawl that FIRSTSEEN_CRAWL names, by default DEFAULT,
and leave others alone. FIRSTSEEN names the daemon, by default http://127.0.0.1:7072, and FIRSTSEEN_CLIENT this process:
its leases end FIRSTSEEN_LEASE seconds after it died, by default 120, or by "firstseen free --client"."""
import base64, hashlib, json, os, signal, string, sys, time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from http.client import HTTPException
from urllib import error, parse, request

DAEMON, CRAWL = os.environ.get("FIRSTSEEN", "http://127.0.0.1:7072"), os.environ.get("FIRSTSEEN_CRAWL", "DEFAULT")
CLIENT, LEASE = os.environ.get("FIRSTSEEN_CLIENT", ""), float(os.environ.get("FIRSTSEEN_LEASE", 120))


class Links(HTMLParser):
    found = ()
    def handle_starttag(self, tag, attrs):
        self.found += tuple(v for k, v in attrs if tag == "a" and k == "href" and v)


class NoRedirect(request.HTTPRedirectHandler):
    redirect_request = lambda *args: None  # the daemon decides


SITE = request.build_opener(NoRedirect, request.HTTPCookieProcessor())  # some pages set a cookie and redirect to themselves


def ask(path, *values):
    """Posts JSON, a line for each value, or gets without one, and returns the lines of the answer."""
    body = "\n".join(map(json.dumps, values)).encode() or None
    try:
        with request.urlopen((DAEMON if "://" in DAEMON else "http://" + DAEMON) + path, body, timeout=60) as answer:
            return [json.loads(line) for line in answer]
    except error.HTTPError as e:
        raise RuntimeError(f"firstseen at {DAEMON} answered {e.code}: {e.read().decode(errors='replace').strip()}") from None
    except (OSError, ValueError, HTTPException) as e:
        raise RuntimeError(f"cannot reach firstseen at {DAEMON}: {e}; is `firstseen serve` running there (FIRSTSEEN)?") from None


def offer(urls, depth=0):
    """Offers URLs. Each must be answered: one that wasn't stored may be offered again."""
    lines = [{**named_url(u), "crawl": CRAWL, "depth": depth} for u in urls]
    answers = ask("/v1/urls", *lines) if lines else []
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
        with SITE.open(url, timeout=30) as page:
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
            answer = ask("/v1/redirect", {**named, **page, "target": target})[0]
            if "error" in answer.get("target", {}):
                print("refused", ascii(target), answer["target"]["error"]["message"], file=sys.stderr, flush=True)
            return visit(answer["follow"]) if "follow" in answer else None  # another page is queued like a link
        wait = min(float(text), 86400) if (text := e.headers.get("Retry-After", "")).isdecimal() and e.code in (429, 503) else 0
        block = {"block_queue_until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + wait + 1))} if wait else {}
        return {**named, **block, "outcome": "retry" if e.code >= 500 or e.code == 429 else "drop", "fetched": {"url": url, "status": e.code}}
    except (OSError, HTTPException):
        return {**named, "outcome": "retry"}
    offer([u for u, same in (on_host(url, link) for link in links.found) if same], lease.get("depth", 0) + 1)
    print("fetched", lease["url"], flush=True)
    return {**named, "outcome": "done", "fetched": fetched}


def why(idle):
    """Says why there was nothing to lease for ten seconds."""
    queues = ask(f"/v1/queues?order=waiting&limit=1&crawl={parse.quote(CRAWL, safe='')}")[0]["queues"]
    held = "".join(f"; queue {q['queue']}: {q['reason']}" for q in queues if "reason" in q)
    until = f" until {idle['next']}" if "next" in idle else ""
    died = f'; if another crawler died, "firstseen free --crawl {CRAWL} --state leased" ends its leases' if idle["state"] == "waiting" else ""
    return f"crawl {CRAWL} is {idle['state']}{until}{held}{died}"


def main():
    offer(sys.argv[1:])
    end, told = {"leases": []}, ""
    with ThreadPoolExecutor(10) as pool:  # one URL a host is out at a time, so these are ten hosts
        while not end.get("finished") and end.get("state") != "limited":
            ask("/v1/done", {"leases": [done for done in pool.map(visit, end["leases"]) if done]})
            end = ask("/v1/lease", {"crawl": CRAWL, "client": CLIENT, "max": 10, "wait_seconds": 10, "lease_seconds": LEASE})[0]
            if end.get("state", "finished") not in ("finished", "limited") and told != (told := why(end)):
                print(told, flush=True)
    s = ask(f"/v1/stats?crawl={parse.quote(CRAWL, safe='')}")[0]
    counts = f"{s['fetched']} pages fetched, {s['dropped']} dropped as failed, {s['held']} wait"
    print("finished:" if end.get("finished") else "limited:", f"{counts} in crawl {CRAWL}", flush=True)


signal.signal(signal.SIGINT, lambda *_: os._exit(print(f"interrupted: run it again to go on with crawl {CRAWL}", flush=True) or 130))
try:
    main()
except RuntimeError as e:
    sys.exit(f"{e}; run it again to go on")
