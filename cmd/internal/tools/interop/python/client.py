"""Calls each of the 19 RPCs through stubs that grpcio-tools makes of our .proto.

usage: client.py HOST:PORT PROTO_DIRECTORY

Prints "ok" and the name of each call, and ends with 1 at the first surprise.
"""

import importlib
import sys
import tempfile
import time

import grpc
from grpc_tools import protoc

CRAWL = "python"


def stubs(directory):
    """Generates the two modules into a temporary directory and imports them."""
    out = tempfile.mkdtemp()
    if protoc.main(["", f"-I{directory}", f"--python_out={out}", f"--grpc_python_out={out}", "urlfrontier.proto"]):
        sys.exit("cannot generate stubs")
    sys.path.insert(0, out)
    return importlib.import_module("urlfrontier_pb2"), importlib.import_module("urlfrontier_pb2_grpc")


def want(what, wanted, got):
    if wanted != got:
        sys.exit(f"surprise: {what}: got {got!r}; want {wanted!r}")


def ok(rpc):
    print("ok", rpc, flush=True)


class Client:
    def __init__(self, target, pb, grpc_stubs):
        self.pb = pb
        self.stub = grpc_stubs.URLFrontierStub(grpc.insecure_channel(target))

    def info(self, url, **more):
        return self.pb.URLInfo(url=url, crawlID=CRAWL, **more)

    def discovered(self, url, id="", **more):
        return self.pb.URLItem(ID=id, discovered=self.pb.DiscoveredURLItem(info=self.info(url, **more)))

    def known(self, url, date, **more):
        return self.pb.URLItem(known=self.pb.KnownURLItem(info=self.info(url, **more), refetchable_from_date=date))

    def put_all(self, items):
        return {ack.ID: self.pb.AckMessage.Status.Name(ack.status) for ack in self.stub.PutURLs(iter(items))}

    def of_queue(self, key):
        return list(self.stub.GetURLs(self.pb.GetParams(key=key, crawlID=CRAWL)))

    def code(self, call, request):
        try:
            call(request)
        except grpc.RpcError as e:
            return e.code()
        return grpc.StatusCode.OK

    def put(self):
        got = self.put_all([self.discovered(f"http://host{i % 9}.example/{i}", id=str(i)) for i in range(900)])
        want("acks", {str(i): "OK" for i in range(900)}, got)
        got = self.put_all([self.discovered("HTTP://host0.example:80/0#x"), self.known("http://done.example/", 0, key="done")])
        want("variant and known", {"HTTP://host0.example:80/0#x": "SKIPPED", "http://done.example/": "OK"}, got)
        ok("PutURLs")
        batch = self.pb.DiscoveredBatch(ID="b", items=[self.info(u, key="batch") for u in ("http://b.example/1", "http://b.example/1#y", "http://b.example/2", "")])
        acks = list(self.stub.PutDiscovered(iter([batch, self.pb.DiscoveredBatch(ID="empty")])))
        want("batches", [("b", [0, 1, 0, 1]), ("empty", [])], [(a.ID, list(a.statuses)) for a in acks])
        ok("PutDiscovered")

    def get(self):
        got = list(self.stub.GetURLs(self.pb.GetParams(max_queues=5, max_urls_per_queue=7, crawlID=CRAWL)))
        want("keys of the queues", True, 1 <= len({u.key for u in got}) <= 5)
        want("crawl", {CRAWL}, {u.crawlID for u in got})
        want("at most 7 of a queue", True, len(got) <= 35)
        ok("GetURLs")

    def look(self):
        pb, stub = self.pb, self.stub
        stats = stub.GetStats(pb.QueueWithinCrawlParams(crawlID=CRAWL))
        want("stats", (902, 11, 1), (stats.size, stats.numberOfQueues, stats.counts["completed"]))
        ok("GetStats")
        want("crawls", True, CRAWL in stub.ListCrawls(pb.Local()).values)
        ok("ListCrawls")
        want("nodes", 1, len(stub.ListNodes(pb.Empty()).values))
        ok("ListNodes")
        want("queues", ["host0.example", "host1.example"], list(stub.ListQueues(pb.Pagination(crawlID=CRAWL, start=1, size=2)).values))
        ok("ListQueues")
        want("count", 903, stub.CountURLs(pb.CountUrlParams(crawlID=CRAWL)).value)
        want("count of a queue", 1, stub.CountURLs(pb.CountUrlParams(crawlID=CRAWL, key="done")).value)
        want("count by filter", 102, stub.CountURLs(pb.CountUrlParams(crawlID=CRAWL, filter="EXAMPLE/8", ignoreCase=True)).value - 9)
        ok("CountURLs")
        items = list(stub.ListURLs(pb.ListUrlParams(crawlID=CRAWL, key="done")))
        want("listed", [("http://done.example/", 0)], [(i.known.info.url, i.known.refetchable_from_date) for i in items])
        ok("ListURLs")
        item = stub.GetURLStatus(pb.URLStatusRequest(url="http://b.example/1", key="batch", crawlID=CRAWL))
        want("status", True, item.known.refetchable_from_date > 0 and item.creation_date > 0)
        want("unknown", grpc.StatusCode.NOT_FOUND, self.code(stub.GetURLStatus, pb.URLStatusRequest(url="http://no.example/", crawlID=CRAWL)))
        want("no URL", grpc.StatusCode.INVALID_ARGUMENT, self.code(stub.GetURLStatus, pb.URLStatusRequest()))
        ok("GetURLStatus")

    def steer(self):
        pb, stub = self.pb, self.stub
        stub.SetDelay(pb.QueueDelayParams(key="slow", crawlID=CRAWL, delay_requestable=600))
        self.put_all([self.discovered("http://slow.example/1", key="slow")])
        want("first", 1, len(self.of_queue("slow")))
        self.put_all([self.discovered("http://slow.example/2", key="slow")])
        want("within the delay", 0, len(self.of_queue("slow")))
        ok("SetDelay")
        stub.BlockQueueUntil(pb.BlockQueueParams(key="blocked", crawlID=CRAWL, time=int(time.time()) + 1000))
        self.put_all([self.discovered("http://blocked.example/1", key="blocked")])
        want("blocked", 0, len(self.of_queue("blocked")))
        stub.BlockQueueUntil(pb.BlockQueueParams(key="blocked", crawlID=CRAWL, time=0))
        want("unblocked", 1, len(self.of_queue("blocked")))
        ok("BlockQueueUntil")
        stub.SetCrawlLimit(pb.CrawlLimitParams(key="done", crawlID=CRAWL, limit=1))
        want("limit of no queue", grpc.StatusCode.NOT_FOUND, self.code(stub.SetCrawlLimit, pb.CrawlLimitParams(key="nobody", crawlID=CRAWL, limit=1)))
        ok("SetCrawlLimit")
        stub.SetActive(pb.Active(state=False))
        want("while inactive", 0, len(list(stub.GetURLs(pb.GetParams()))))
        want("inactive", False, stub.GetActive(pb.Local()).state)
        stub.SetActive(pb.Active(state=True))
        want("active", True, stub.GetActive(pb.Local()).state)
        ok("SetActive")
        ok("GetActive")
        stub.SetLogLevel(pb.LogLevelParams(level=pb.LogLevelParams.INFO))
        ok("SetLogLevel")

    def forget(self):
        pb, stub = self.pb, self.stub
        want("deleted", 1, stub.DeleteQueue(pb.QueueWithinCrawlParams(crawlID=CRAWL, key="done")).value)
        ok("DeleteQueue")
        want("purged", 0, stub.PurgeURLs(pb.PurgeUrlParams(crawlID=CRAWL, days=1)).value)
        ok("PurgeURLs")
        want("deleted", 905, stub.DeleteCrawl(pb.DeleteCrawlMessage(value=CRAWL)).value)
        ok("DeleteCrawl")


def main():
    pb, grpc_stubs = stubs(sys.argv[2])
    client = Client(sys.argv[1], pb, grpc_stubs)
    for part in (client.put, client.get, client.look, client.steer, client.forget):
        part()


main()
