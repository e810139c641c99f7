import { Request, log } from "@crawlee/cheerio";

// urlOf is the URL of a lease. JSON can't carry bytes that aren't UTF-8.
const urlOf = (lease) => (!lease.url_bytes ? lease.url : Buffer.from(lease.url_bytes, "base64").toString("latin1")
  .replace(/[^\x21-\x7e]/g, (c) => "%" + c.charCodeAt().toString(16).padStart(2, "0")));

// Frontier is a Crawlee request manager whose queue is in firstseen serve: pages are compared by
// their canonical form, hosts are served politely, and if a crawler dies, its pages in flight are
// handed out again. Any number of crawlers can share a crawl, and any number of crawls a daemon: a
// crawler gets only pages of its own crawl.
export class Frontier {
  #ready = []; // leases that Crawlee has not taken yet
  #handled = 0;
  #headers;

  // daemon is an address, or a daemon that startDaemon of the package firstseen returned.
  constructor(daemon = "http://127.0.0.1:7072", crawl = "DEFAULT", leaseSeconds = 120) {
    const { url, token } = typeof daemon === "string" ? { url: daemon } : daemon;
    this.daemon = url;
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
    this.crawl = crawl;
    this.leaseSeconds = leaseSeconds;
  }

  // ask posts JSON, a line for each value, and returns the lines of the answer.
  async #ask(path, ...values) {
    const body = values.map((v) => JSON.stringify(v)).join("\n");
    const answer = await fetch(this.daemon + path, { method: "POST", body, headers: this.#headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${text}`);
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async #settle(request, outcome) {
    const { crawl, key, token } = request.userData.lease;
    await this.#ask("/v1/done", { leases: [{ crawl, key, token, outcome }] });
  }

  async addRequestsBatched(requests) {
    const lines = [];
    for await (const r of requests) {
      const { url, crawlDepth = 0, userData } = typeof r === "string" ? { url: r } : r;
      lines.push({ url, crawl: this.crawl, depth: crawlDepth, metadata: userData?.label ? { label: [userData.label] } : undefined });
    }
    const verdicts = await this.#ask("/v1/urls", ...lines);
    if (verdicts.length !== lines.length || verdicts.some((v) => v.verdict === "failed")) { // the page is tried again
      throw new Error(`not all of ${lines.length} URLs were stored: ${JSON.stringify(verdicts.at(-1))}`);
    }
    verdicts.forEach((v, i) => v.verdict === "refused" && log.warning(`refused ${lines[i].url}: ${v.error.message}`));
    const addedRequests = verdicts.filter((v) => v.key).map((v) => (
      { requestId: v.key, uniqueKey: v.key, wasAlreadyPresent: v.verdict !== "new", wasAlreadyHandled: false }));
    return { addedRequests, waitForAllRequestsToBeAdded: Promise.resolve([]), requestsOverLimit: [] };
  }

  async addRequest(request) {
    return (await this.addRequestsBatched([request])).addedRequests[0];
  }

  async isEmpty() {
    if (this.#ready.length === 0) {
      const [{ leases }] = await this.#ask("/v1/lease", { crawl: this.crawl, max: 1, lease_seconds: this.leaseSeconds });
      this.#ready.push(...leases);
    }
    return this.#ready.length === 0;
  }

  async fetchNextRequest() {
    if (await this.isEmpty()) return null;
    const lease = this.#ready.shift();
    const { key, depth, metadata } = lease;
    const url = urlOf(lease);
    return new Request({ id: key, uniqueKey: key, url, crawlDepth: depth ?? 0, userData: { lease, label: metadata?.label?.[0] } });
  }

  async markRequestHandled(request) {
    this.#handled++;
    if (!request.userData.over) await this.#settle(request, "done");
    return null;
  }

  async reclaimRequest(request) {
    await this.#settle(request, "retry"); // after a back-off; five attempts in all
    return null;
  }

  // redirected reports the target of a redirect. A variant of the same page is fetched next, under
  // the same lease; another page is queued like a link.
  async redirected(request, location) {
    const { crawl, queue, key, token, url, url_bytes } = request.userData.lease;
    const target = new URL(location, request.url).href;
    const [{ follow }] = await this.#ask("/v1/redirect", { crawl, queue, key, token, url, url_bytes, target });
    if (follow) this.#ready.unshift(follow);
    request.userData.over = true;
  }

  async isFinished() {
    const answer = await fetch(`${this.daemon}/v1/stats?crawl=${encodeURIComponent(this.crawl)}`, { headers: this.#headers });
    return this.#ready.length === 0 && (await answer.json()).held === 0;
  }

  async handledCount() { return this.#handled; }
  getTotalCount() { return this.#handled + this.#ready.length; }
  getPendingCount() { return this.#ready.length; }
}
