package interop;

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.*;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Calls each of the 17 RPCs of release 2.5 on the server at args[0], through the stubs that
 * StormCrawler uses too. Prints "ok" and the name of each, and ends with 1 at the first surprise.
 */
public final class Main {
    private static final String CRAWL = "java";
    private static URLFrontierGrpc.URLFrontierBlockingStub frontier;
    private static URLFrontierGrpc.URLFrontierStub async;

    public static void main(String[] args) throws Exception {
        ManagedChannel channel = ManagedChannelBuilder.forTarget(args[0]).usePlaintext().build();
        frontier = URLFrontierGrpc.newBlockingStub(channel).withDeadlineAfter(5, TimeUnit.MINUTES);
        async = URLFrontierGrpc.newStub(channel);
        try {
            put();
            get();
            look();
            steer();
            forget();
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
        System.exit(0);
    }

    private static void want(String what, Object want, Object got) {
        if (!want.equals(got)) {
            System.out.println("surprise: " + what + ": got " + got + "; want " + want);
            System.exit(1);
        }
    }

    private static void ok(String rpc) {
        System.out.println("ok " + rpc);
    }

    /** Puts items on one stream without waiting, as StormCrawler does, and returns acks by ID. */
    private static Map<String, AckMessage.Status> putAll(List<URLItem> items) throws Exception {
        Map<String, AckMessage.Status> acks = new ConcurrentHashMap<>();
        CountDownLatch ended = new CountDownLatch(1);
        StreamObserver<URLItem> out =
                async.putURLs(
                        new StreamObserver<>() {
                            @Override
                            public void onNext(AckMessage ack) {
                                acks.put(ack.getID(), ack.getStatus());
                            }

                            @Override
                            public void onError(Throwable t) {
                                System.out.println("surprise: " + t);
                                ended.countDown();
                            }

                            @Override
                            public void onCompleted() {
                                ended.countDown();
                            }
                        });
        items.forEach(out::onNext);
        out.onCompleted();
        want("stream ended by the server", true, ended.await(5, TimeUnit.MINUTES));
        return acks;
    }

    private static URLInfo.Builder info(String url) {
        return URLInfo.newBuilder().setUrl(url).setCrawlID(CRAWL);
    }

    private static URLItem discovered(URLInfo.Builder info) {
        return URLItem.newBuilder().setDiscovered(DiscoveredURLItem.newBuilder().setInfo(info)).build();
    }

    private static URLItem known(URLInfo.Builder info, long date) {
        return URLItem.newBuilder()
                .setKnown(KnownURLItem.newBuilder().setInfo(info).setRefetchableFromDate(date))
                .build();
    }

    private static void put() throws Exception {
        List<URLItem> items = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            items.add(discovered(info("http://host" + i % 50 + ".example/" + i)));
        }
        Map<String, AckMessage.Status> acks = putAll(items);
        want("acks", 5000, acks.size());
        want("all new", true, acks.values().stream().allMatch(s -> s == AckMessage.Status.OK));
        acks = putAll(items);
        want("all known", true, acks.values().stream().allMatch(s -> s == AckMessage.Status.SKIPPED));
        StringList values = StringList.newBuilder().addValues("a").addValues("b").build();
        acks =
                putAll(
                        List.of(
                                known(info("http://done.example/").setKey("done"), 0),
                                known(info("http://meta.example/").setKey("meta").putMetadata("k", values), 1),
                                known(info("http://later.example/").setKey("later"), System.currentTimeMillis() / 1000 + 1000)));
        want("known", new TreeMap<>(Map.of("http://done.example/", AckMessage.Status.OK, "http://later.example/",
                AckMessage.Status.OK, "http://meta.example/", AckMessage.Status.OK)), new TreeMap<>(acks));
        ok("PutURLs");
    }

    private static List<URLInfo> list(Iterator<URLInfo> it) {
        List<URLInfo> all = new ArrayList<>();
        it.forEachRemaining(all::add);
        return all;
    }

    private static void get() {
        GetParams.Builder p = GetParams.newBuilder().setMaxQueues(10).setMaxUrlsPerQueue(10).setDelayRequestable(600);
        List<URLInfo> got = list(frontier.getURLs(p.build()));
        want("10 queues of at most 10", true, !got.isEmpty() && got.size() <= 100);
        want("queues", true, got.stream().map(URLInfo::getKey).distinct().count() <= 10);
        got = list(frontier.getURLs(p.setKey("meta").setCrawlID(CRAWL).build()));
        want("one of that queue, or it was served before", true, got.size() <= 1);
        ok("GetURLs");
    }

    private static void look() {
        QueueWithinCrawlParams queue = QueueWithinCrawlParams.newBuilder().setCrawlID(CRAWL).build();
        Stats stats = frontier.getStats(queue);
        want("size", 5002L, stats.getSize());
        want("completed", 1L, stats.getCountsOrThrow("completed"));
        want("queues", 53L, stats.getNumberOfQueues());
        want("crawl", CRAWL, stats.getCrawlID());
        ok("GetStats");
        want("crawls", true, frontier.listCrawls(Local.getDefaultInstance()).getValuesList().contains(CRAWL));
        ok("ListCrawls");
        want("nodes", 1, frontier.listNodes(Empty.getDefaultInstance()).getValuesCount());
        ok("ListNodes");
        want("queues", 53, frontier.listQueues(Pagination.newBuilder().setCrawlID(CRAWL).setSize(1000).setIncludeInactive(true).build()).getValuesCount());
        ok("ListQueues");
        want("count", 5003L, frontier.countURLs(CountUrlParams.newBuilder().setCrawlID(CRAWL).build()).getValue());
        want("count of example/7", 11L + 100 + 1000,
                frontier.countURLs(CountUrlParams.newBuilder().setCrawlID(CRAWL).setFilter("EXAMPLE/1").setIgnoreCase(true).build()).getValue());
        ok("CountURLs");
        List<URLItem> items = new ArrayList<>();
        frontier.listURLs(ListUrlParams.newBuilder().setCrawlID(CRAWL).setKey("done").build()).forEachRemaining(items::add);
        want("listed", 1, items.size());
        want("listed date", 0L, items.get(0).getKnown().getRefetchableFromDate());
        ok("ListURLs");
        URLItem item = frontier.getURLStatus(URLStatusRequest.newBuilder().setUrl("http://META.example:80/").setKey("meta").setCrawlID(CRAWL).build());
        want("any spelling", "http://meta.example/", item.getKnown().getInfo().getUrl());
        want("metadata", "b", item.getKnown().getInfo().getMetadataOrThrow("k").getValues(1));
        try {
            frontier.getURLStatus(URLStatusRequest.newBuilder().setUrl("http://nobody.example/").setCrawlID(CRAWL).build());
            want("unknown", "an error", "an answer");
        } catch (StatusRuntimeException e) {
            want("unknown", Status.Code.NOT_FOUND, e.getStatus().getCode());
        }
        ok("GetURLStatus");
    }

    private static List<URLInfo> ofQueue(String key) {
        return list(frontier.getURLs(GetParams.newBuilder().setKey(key).setCrawlID(CRAWL).setMaxUrlsPerQueue(1000).build()));
    }

    private static void steer() throws Exception {
        frontier.setDelay(QueueDelayParams.newBuilder().setKey("slow").setCrawlID(CRAWL).setDelayRequestable(600).build());
        putAll(List.of(discovered(info("http://slow.example/1").setKey("slow"))));
        want("first", 1, ofQueue("slow").size());
        putAll(List.of(discovered(info("http://slow.example/2").setKey("slow"))));
        want("within the delay", 0, ofQueue("slow").size());
        ok("SetDelay");
        long future = System.currentTimeMillis() / 1000 + 1000;
        frontier.blockQueueUntil(BlockQueueParams.newBuilder().setKey("blocked").setCrawlID(CRAWL).setTime(future).build());
        putAll(List.of(discovered(info("http://blocked.example/1").setKey("blocked"))));
        want("blocked", 0, ofQueue("blocked").size());
        frontier.blockQueueUntil(BlockQueueParams.newBuilder().setKey("blocked").setCrawlID(CRAWL).setTime(0).build());
        want("unblocked", 1, ofQueue("blocked").size());
        ok("BlockQueueUntil");
        frontier.setCrawlLimit(CrawlLimitParams.newBuilder().setKey("done").setCrawlID(CRAWL).setLimit(1).build());
        putAll(List.of(discovered(info("http://done.example/2").setKey("done"))));
        want("at its limit", 0, ofQueue("done").size());
        try {
            frontier.setCrawlLimit(CrawlLimitParams.newBuilder().setKey("nobody").setCrawlID(CRAWL).setLimit(1).build());
            want("limit of no queue", "an error", "an answer");
        } catch (StatusRuntimeException e) {
            want("limit of no queue", Status.Code.NOT_FOUND, e.getStatus().getCode());
        }
        ok("SetCrawlLimit");
        frontier.setActive(Active.newBuilder().setState(false).build());
        want("active", false, frontier.getActive(Local.getDefaultInstance()).getState());
        want("while inactive", 0, list(frontier.getURLs(GetParams.getDefaultInstance())).size());
        frontier.setActive(Active.newBuilder().setState(true).build());
        want("active", true, frontier.getActive(Local.getDefaultInstance()).getState());
        ok("SetActive");
        ok("GetActive");
        frontier.setLogLevel(LogLevelParams.newBuilder().setPackage("x").setLevel(LogLevelParams.Level.INFO).build());
        ok("SetLogLevel");
    }

    private static void forget() {
        QueueWithinCrawlParams done = QueueWithinCrawlParams.newBuilder().setCrawlID(CRAWL).setKey("done").build();
        want("deleted", 2L, frontier.deleteQueue(done).getValue());
        want("deleted again", 0L, frontier.deleteQueue(done).getValue());
        ok("DeleteQueue");
        want("deleted", 5005L, frontier.deleteCrawl(DeleteCrawlMessage.newBuilder().setValue(CRAWL).build()).getValue());
        ok("DeleteCrawl");
    }
}
