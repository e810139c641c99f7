// Tests of frontier.mjs on a daemon without delays and limits (firstseen serve --delay 0 --max-in-flight 0 --traps off): FIRSTSEEN=http://127.0.0.1:7072 node --test
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { CheerioCrawler, Configuration, Request, log } from "@crawlee/cheerio";
import { Frontier } from "./frontier.mjs";

const daemon = process.env.FIRSTSEEN ?? "http://127.0.0.1:7072";
const crawlName = () => `test-${Math.random().toString(36).slice(2)}`;
const open = (crawl = crawlName(), leaseSeconds = 120) => new Frontier(daemon, crawl, leaseSeconds);
log.setLevel(log.LEVELS.OFF);

// A site that answers with what it was asked: /status/N with that status, /flaky well from the third time on.
// /wall/… wants a cookie, which it sets itself, or /cookie, or nobody.
let site, base, asked;
before(async () => {
  site = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    asked.push(`${req.method} ${req.url} ${body}`.trim());
    const times = asked.filter((a) => a.includes(req.url)).length;
    const status = req.url === "/flaky" ? (times < 3 ? 500 : 200) : Number(req.url.match(/^\/status\/(\d+)/)?.[1] ?? 200);
    const walled = req.url.startsWith("/wall/") && !req.headers.cookie?.includes("seen=1");
    const location = walled ? { "/wall/self": req.url, "/wall/by": "/cookie", "/wall/never": "/wall/never?" }[req.url.replace("?", "")]
      : { "/form": "/after", "/loop": "/loop?", "/cookie": "/wall/by" }[req.url];
    const sets = req.url === "/wall/self" || req.url === "/cookie" ? { "set-cookie": "seen=1; Path=/" } : {};
    const code = walled || req.url === "/cookie" ? 302 : location && req.method === "POST" ? 303 : status;
    res.writeHead(code, { "content-type": "text/html", ...sets, ...(location && { location }) });
    res.end(`<p>${req.headers["x-odd"] ?? ""}</p>`);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => { site.once("listening", resolve); });
  base = `http://127.0.0.1:${site.address().port}`;
});
after(() => site.close());

async function crawl(frontier, requests, options = {}) {
  const crawler = new CheerioCrawler({ sessionPoolOptions: { blockedStatusCodes: [] }, ...options },
    new Configuration({ persistStorage: false, purgeOnStart: false }));
  crawler.requestManager = crawler.requestQueue = frontier;
  crawler.autoscaledPoolOptions.maybeRunIntervalSecs = 0.01;
  const stats = await crawler.run(requests);
  await frontier.close();
  return stats;
}

test("whole requests survive the trip", async () => {
  asked = [];
  const sent = [
    { url: `${base}/search`, method: "POST", payload: "q=1", headers: { "x-odd": "yes" }, userData: { nested: { list: [1, null, "é"] } }, label: "FORM" },
    { url: `${base}/search`, method: "POST", payload: "q=2" },
    { url: `${base}/search` },
    { url: `${base}/again`, uniqueKey: "first" },
    { url: `${base}/again`, uniqueKey: "second" },
    { url: `${base}/elsewhere`, uniqueKey: "second" }, // the same, to Crawlee
    { url: `${base}/ext`, method: "PUT", payload: "x", useExtendedUniqueKey: true, maxRetries: 7, noRetry: true },
    { url: `${base}/%73earch#top` }, // the same page
  ];
  const name = crawlName();
  const { addedRequests } = await open(name).addRequestsBatched(sent);
  assert.deepEqual(addedRequests.map((a) => a.wasAlreadyPresent), [false, false, false, false, false, true, false, true]);
  const got = [];
  await crawl(open(name), [], { requestHandler({ request, body }) { got.push([request, String(body)]); } });
  assert.deepEqual(asked.toSorted(), ["GET /again", "GET /again", "GET /search", "POST /search q=1", "POST /search q=2", "PUT /ext x"]);
  for (const want of sent.filter((_, i) => !addedRequests[i].wasAlreadyPresent).map((s) => new Request(s))) {
    const found = got.map(([r]) => r).filter((r) => r.uniqueKey === want.uniqueKey && r.payload === want.payload);
    assert.equal(found.length, 1, want.uniqueKey);
    for (const field of ["url", "method", "payload", "headers", "label", "noRetry", "maxRetries"]) assert.deepEqual(found[0][field], want[field], field);
    assert.deepEqual(found[0].userData, want.userData);
  }
  assert.ok(got.some(([r, body]) => r.label === "FORM" && body.includes("yes")));
});

test("retries are Crawlee's, errors and user data live on, failures are failures", async () => {
  asked = [];
  const frontier = open(), failed = [], retried = [];
  const stats = await crawl(frontier, [`${base}/flaky`, `${base}/status/500`, `${base}/status/404`], {
    maxRequestRetries: 7, // more than the daemon's own five attempts
    requestHandler() {},
    postNavigationHooks: [({ request, response }) => frontier.answered(request, response.statusCode)],
    errorHandler({ request }) { request.userData.tried = (request.userData.tried ?? 0) + 1; retried.push(request.retryCount); },
    failedRequestHandler({ request }) { failed.push([request.url, request.retryCount, request.userData.tried, request.errorMessages.length]); },
  });
  assert.equal(asked.filter((a) => a.endsWith("/flaky")).length, 3);
  assert.equal(asked.filter((a) => a.endsWith("/500")).length, 8);
  assert.deepEqual(failed, [[`${base}/status/500`, 7, 7, 8]]);
  assert.equal(retried.length, 9);
  assert.deepEqual([stats.requestsFinished, stats.requestsFailed], [2, 1]);
  const { held, completed, dropped } = await (await fetch(`${daemon}/v1/stats?crawl=${frontier.crawl}`)).json();
  assert.deepEqual([held, completed, dropped], [0, 1, 2]); // 404 is a page to the handler, and not there for the daemon
  assert.deepEqual([await frontier.handledCount(), frontier.getTotalCount(), frontier.getPendingCount()], [3, 3, 0]);
  assert.match(frontier.why, /finished: 1 requests are done, 2 dropped/);
});

test("a host that asks for it is left alone, by all crawlers", async () => {
  for (const [name, status, retryAfter] of [["seconds", 429, "3600"], ["date", 503, new Date(Date.now() + 3600_000).toUTCString()]]) {
    const frontier = open(), host = `http://${name}.example`;
    await frontier.addRequestsBatched([1, 2, 3, 4].map((n) => `${host}/${n}`));
    const [first, second] = [await frontier.fetchNextRequest(), await frontier.fetchNextRequest()];
    assert.equal(await frontier.isEmpty(), false); // a third is leased ahead
    frontier.answered(first, status, { "retry-after": retryAfter });
    assert.equal(await frontier.fetchNextRequest(), null);
    await frontier.reclaimRequest(first);
    await frontier.markRequestHandled(second);
    const other = open(frontier.crawl);
    assert.equal(await other.fetchNextRequest(), null);
    const { queues: [queue] } = await (await fetch(`${daemon}/v1/queues?crawl=${frontier.crawl}`)).json();
    const left = Date.parse(queue.blocked_until) - Date.now();
    assert.ok(queue.state === "blocked" && left > 3_000_000 && left <= 3_700_000, JSON.stringify(queue));
    assert.deepEqual([await frontier.handledCount(), frontier.getPendingCount()], [1, 3]);
    await frontier.close();
  }
  const frontier = open();
  await frontier.addRequestsBatched([`${base}/busy/1`, `${base}/busy/2`]);
  const request = await frontier.fetchNextRequest();
  for (const [status, text] of [[200, "3600"], [429, "soon"], [429, "-5"], [429, undefined], [503, new Date(0).toUTCString()]]) {
    frontier.answered(request, status, { "retry-after": text });
  }
  assert.ok(await frontier.fetchNextRequest());
  await frontier.close();
});

test("forefront, limits of new requests, iteration", async () => {
  const frontier = open();
  await frontier.addRequestsBatched([1, 2, 3].map((n) => `${base}/plain/${n}`));
  await frontier.addRequest({ url: `${base}/urgent` }, { forefront: true });
  const first = await frontier.fetchNextRequest();
  assert.equal(first.url, `${base}/urgent`);
  const second = await frontier.fetchNextRequest();
  await frontier.reclaimRequest(second, { forefront: true });
  assert.equal((await frontier.fetchNextRequest()).url, second.url);
  const more = await frontier.addRequestsBatched([`${base}/plain/1`, `${base}/new/1`, `${base}/new/2`, `${base}/new/3`], { maxNewRequests: 2 });
  assert.deepEqual(more.addedRequests.map((a) => a.wasAlreadyPresent), [true, false, false]);
  assert.deepEqual(more.requestsOverLimit, [`${base}/new/3`]);
  let n = 0;
  for await (const request of frontier) { await frontier.markRequestHandled(request); n++; }
  assert.equal(n, 4);
  assert.equal(await frontier.isFinished(), false); // two are still handled
  assert.match(frontier.why, /interrupted: .* 2 of crawl/);
  await frontier.close();
  assert.equal(await frontier.isEmpty(), false); // released: somebody may take them at once
  await frontier.close();
});

test("a handler may take longer than its lease", async () => {
  const frontier = open(crawlName(), 8); // a busy machine may be seconds late to extend it
  await frontier.addRequest({ url: `${base}/slow` });
  const request = await frontier.fetchNextRequest();
  const other = open(frontier.crawl, 8);
  for (const until = Date.now() + 9000; Date.now() < until;) {
    assert.equal(await other.fetchNextRequest(), null);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  await frontier.markRequestHandled(request);
  assert.equal(await other.isFinished(), true);
  await Promise.all([frontier.close(), other.close()]);
});

test("redirects", async () => {
  asked = [];
  const frontier = open();
  await crawl(frontier, [{ url: `${base}/form`, method: "POST", payload: "a=1", userData: { keep: 1 } }, `${base}/loop`], {
    preNavigationHooks: [(_, options) => { options.followRedirect = false; }],
    postNavigationHooks: [({ request, response }) => frontier.answered(request, response.statusCode)],
    async requestHandler({ request, response }) {
      if (response.statusCode === 303) return frontier.redirected(request, response.headers.location);
      if (request.url.endsWith("/after")) assert.deepEqual([request.method, request.userData.keep], ["GET", 1]);
    },
  });
  assert.deepEqual(asked.toSorted(), ["GET /after", "GET /loop", "POST /form a=1"]);
});

test("a page that sets a cookie and leads back to itself is fetched, and one that never stops is a failure", async () => {
  asked = [];
  const frontier = open(), handled = [], failed = [];
  let broken = 1; // the handler fails once at a page that was followed: it has a lease of its own
  await crawl(frontier, ["/wall/self", "/wall/by", "/wall/never"].map((path) => base + path), {
    maxRequestRetries: 1,
    preNavigationHooks: [(_, options) => { options.followRedirect = false; }],
    postNavigationHooks: [({ request, response }) => frontier.answered(request, response.statusCode)],
    async requestHandler({ request, response, session }) {
      if (response.statusCode === 302) return frontier.redirected(request, response.headers.location, session);
      if (request.url.endsWith("/self") && broken-- > 0) throw new Error("again");
      handled.push(request.url.replace(base, ""));
    },
    failedRequestHandler({ request }) { failed.push(request.url.replace(base, "")); },
  });
  assert.deepEqual(handled.toSorted(), ["/wall/by", "/wall/self"]);
  assert.deepEqual(failed, ["/wall/never?"]);
  assert.equal(asked.filter((a) => a.includes("/wall/self")).length, 3);
  const { held, dropped } = await (await fetch(`${daemon}/v1/stats?crawl=${frontier.crawl}`)).json();
  assert.deepEqual([held, dropped], [0, 1]);
});

test("a wait says why, once for each reason", async (t) => {
  const told = [];
  t.mock.method(log, "info", (line) => told.push(line));
  t.mock.timers.enable({ apis: ["Date"] });
  let lease, queue = { queue: "a.example", reason: "5 fetches in a row failed" };
  t.mock.method(globalThis, "fetch", async (url) => (
    { ok: true, text: async () => JSON.stringify(url.includes("/v1/queues") ? { queues: [queue] } : { leases: [], ...lease }) }));
  const frontier = new Frontier("127.0.0.1:9", "news", 60, 300, "w1");
  const wait = async (answer, seconds) => {
    lease = answer;
    for (let i = 0; i < seconds; i++, t.mock.timers.tick(1000)) await frontier.isEmpty();
  };
  await wait({ state: "delayed", next: "2026-11-27T20:51:01.313Z" }, 4);
  assert.deepEqual(told, []);
  await wait({ state: "delayed", next: "2026-11-27T20:51:01.313Z" }, 30);
  assert.deepEqual(told, ['crawl news is delayed until 2026-11-27T20:51:01Z; queue a.example: 5 fetches in a row failed. If its host is up, "firstseen set --crawl news --queue a.example --blocked-until default" ends the wait; "firstseen serve --failing-after" says after how many it begins']);
  queue = undefined;
  await wait({ state: "paused" }, 12);
  await wait({ state: "waiting" }, 12);
  await wait({ state: "finished" }, 12);
  assert.deepEqual(told.slice(1), ["crawl news is paused",
    'crawl news is waiting. Another process has leases; if it died, "firstseen free --crawl news --client w1" ends them']);
});

test("a list of URLs, and the last at the forefront first", async () => {
  const frontier = open();
  frontier.downloadListOfUrls = async ({ url }) => (url.endsWith("empty") ? [] : [`${base}/l/1`, `${base}/l/2`]);
  await frontier.addRequestsBatched([{ requestsFromUrl: `${base}/list`, label: "L" }]);
  await frontier.addRequest({ requestsFromUrl: `${base}/empty` });
  for (const n of [3, 4]) await frontier.addRequest({ url: `${base}/l/${n}` }, { forefront: true });
  const got = [];
  for await (const request of frontier) got.push(`${request.url.at(-1)}${request.label ?? ""}`);
  assert.deepEqual(got, ["4", "3", "1L", "2L"]);
  await frontier.close();
});

test("what can't be stored is said", async () => {
  const frontier = open();
  await assert.rejects(frontier.addRequest({ url: `${base}/big`, userData: { x: "x".repeat(70_000) } }), /keep what is large elsewhere/);
  await assert.rejects(frontier.addRequest({ url: "mailto:me@example.org" }), /refused mailto/);
  await assert.rejects(new Frontier("http://127.0.0.1:9").addRequest({ url: base }), /is `firstseen serve` running there/);
});
