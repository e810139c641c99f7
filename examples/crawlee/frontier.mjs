// A Crawlee request manager whose queue is in firstseen serve. Pages are compared by their
// canonical form, hosts are served politely, and any number of crawlers can share a crawl: if one
// dies, its pages in flight are handed out again.
//
// The daemon keeps the whole request beside its URL, as metadata: method, payload, headers,
// uniqueKey, userData, and after a failure the count of retries and the errors. Crawlee decides
// how often a request is retried; the daemon only holds it between two attempts.
import { createHash } from "node:crypto";
import { NonRetryableError, Request, RequestState, log } from "@crawlee/cheerio";
import { downloadListOfUrls } from "@crawlee/utils";

const NORMAL = 3, FOREFRONT = 7; // of the daemon's priorities, 0 to 7
const CHUNK = 1000; // requests of one call
const MAX_STORED = 60_000; // bytes of a request beside its URL; the daemon takes 65,536
const MAX_COOKIES = 10_000; // targets of redirects whose cookies are kept until they are fetched
const LONGEST_BLOCK = 86_400_000; // ms that a host can keep us away
const SILENCE = 5000; // ms of a wait before its reason is logged
const LATER = [429, 502, 503, 504, 507]; // answers after which the same call may work

export class Frontier {
  #ready = []; // leases that Crawlee has not taken yet
  #held = new Set(); // all leases, to be extended until they are settled
  #leases = new WeakMap(); // of requests, until these are settled or lead elsewhere
  #cookies = new Map(); // that a redirect set for its target, by the key of the target
  #blocked = new Map(); // queues whose host asked to be left alone, with until when
  #adding = 0; // calls of addRequestsBatched that are not over
  #counts = { done: 0, dropped: 0, pending: 0 }; // of the whole crawl, as far as is known here
  #headers;
  #reached = false;
  #soonest = Infinity;
  #timer;
  #state = "interrupted";
  #waitsSince; // when there was first nothing to lease, and nothing held
  #told = ""; // the reason for a wait that was logged last

  // daemon is an address, or a daemon that startDaemon of the package firstseen returned.
  // A lease is extended for as long as this process runs: leaseSeconds is how long the pages of a
  // process that died wait for another. If the daemon is away, calls wait for it, giveUpSeconds at most.
  // client names this process: if it dies, "firstseen free --client NAME" frees its leases.
  constructor(daemon = "http://127.0.0.1:7072", crawl = "DEFAULT", leaseSeconds = 60, giveUpSeconds = 300, client = undefined) {
    const { url, token } = typeof daemon === "string" ? { url: daemon } : daemon;
    this.daemon = url.includes("://") ? url : `http://${url}`;
    if (!(leaseSeconds > 0)) throw new Error(`leaseSeconds: got ${leaseSeconds}; want a number above 0`);
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
    Object.assign(this, { crawl, leaseSeconds, giveUpSeconds, client });
  }

  async addRequest(request, options) {
    const { addedRequests: [added] } = await this.addRequestsBatched([request], options);
    if (!added && !request.requestsFromUrl) throw new Error(`firstseen refused ${request.url ?? request}`);
    return added;
  }

  async addRequestsBatched(requests, { forefront = false, maxNewRequests = Infinity } = {}) {
    this.#adding++;
    try {
      const waiting = [];
      for await (const r of requests) waiting.push(...(r.requestsFromUrl ? await this.#listed(r) : [r]));
      const addedRequests = [];
      for (let left = maxNewRequests; waiting.length > 0 && left > 0;) {
        const added = await this.#add(waiting.splice(0, Math.min(CHUNK, left)), forefront);
        addedRequests.push(...added);
        left -= added.filter((a) => !a.wasAlreadyPresent).length;
      }
      return { addedRequests, waitForAllRequestsToBeAdded: Promise.resolve([]), requestsOverLimit: waiting };
    } finally {
      this.#adding--;
    }
  }

  // listed downloads a list of URLs, and makes a request of each.
  async #listed({ requestsFromUrl, regex, ...shared }) {
    const urls = await this.downloadListOfUrls({ url: requestsFromUrl, urlRegExp: regex });
    return urls.map((url) => ({ ...shared, url }));
  }

  downloadListOfUrls(options) { return downloadListOfUrls(options); } // Crawlee has it as a method too

  async #add(sources, forefront) {
    const requests = sources.map((s) => (s instanceof Request ? s : new Request(typeof s === "string" ? { url: s } : s)));
    const lines = requests.map((r) => (
      { ...identity(r), crawl: this.crawl, depth: r.crawlDepth, metadata: { crawlee: [dump(r)] }, priority: NORMAL, ...(forefront && this.#first()) }));
    const verdicts = await this.#ask("/v1/urls", ...lines);
    if (verdicts.length !== lines.length || verdicts.some((v) => v.verdict === "failed")) { // the page is tried again
      throw new Error(`not all of ${lines.length} URLs were stored: ${JSON.stringify(verdicts.at(-1))}`);
    }
    return verdicts.flatMap((v, i) => {
      if (v.verdict === "new" || v.requeued) this.#counts.pending++;
      if (v.verdict !== "refused") return [{ requestId: v.key, uniqueKey: requests[i].uniqueKey, wasAlreadyPresent: v.verdict !== "new", wasAlreadyHandled: false, forefront }];
      log.warning(`refused ${requests[i].url}: ${v.error.message}`);
      return [];
    });
  }

  // first is the place before all others, as Crawlee has it: of two requests at the forefront the later
  // one comes first. The daemon serves by priority and then by due time, so that one is the earlier.
  #first() {
    this.#soonest = Math.min(this.#soonest - 1, 3e12 - Date.now());
    return { priority: FOREFRONT, due: new Date(this.#soonest).toISOString() };
  }

  async isEmpty() {
    if (this.#ready.length === 0) {
      const [answer] = await this.#ask("/v1/lease", { crawl: this.crawl, client: this.client, max: 1, lease_seconds: this.leaseSeconds });
      answer.leases.forEach((lease) => this.#hold(lease));
      this.#ready.push(...answer.leases);
      if (answer.state) this.#state = answer.state;
      await this.#explain(answer);
    }
    return this.#ready.length === 0;
  }

  // explain logs why this process, which has nothing to fetch, has waited for some seconds: once for each
  // reason. A delay is often the host's own, and comes between all pages, so once in all.
  async #explain({ state, next }) {
    if (!state || state === "finished" || state === "limited" || this.#held.size > 0) {
      this.#waitsSince = undefined;
      if (!this.#told.startsWith("delayed")) this.#told = "";
      return;
    }
    this.#waitsSince ??= Date.now();
    if (Date.now() - this.#waitsSince < SILENCE) return;
    this.#waitsSince = Date.now(); // the question comes once in these seconds
    const [{ queues: [queue] }] = await this.#ask(`/v1/queues?order=waiting&limit=1&crawl=${encodeURIComponent(this.crawl)}`);
    const reason = queue?.reason ? `; queue ${queue.queue}: ${queue.reason}. If its host is up, "firstseen set --crawl ${this.crawl} --queue ${queue.queue} --blocked-until default" ends the wait; "firstseen serve --failing-after" says after how many it begins` : "";
    if (this.#told === state + reason) return;
    this.#told = state + reason;
    const until = next ? ` until ${next.slice(0, 19)}Z` : "";
    const [whose, allOf] = this.client ? [`--client ${this.client}`, ""] : ["--state leased", ", and those of processes that run"];
    const remedy = state === "waiting" ? `. Another process has leases; if it died, "firstseen free --crawl ${this.crawl} ${whose}" ends them${allOf}` : "";
    log.info(`crawl ${this.crawl} is ${state}${until}${reason}${remedy}`);
  }

  async fetchNextRequest() {
    while (!(await this.isEmpty())) {
      const lease = this.#ready.shift();
      if (!lease) return null; // another caller was faster
      if (this.#block(lease)) { // it was on its way when the host said so
        await this.#settle(lease, "release");
        continue;
      }
      try {
        const request = load(lease, this.#cookies.get(lease.key));
        this.#cookies.delete(lease.key);
        this.#leases.set(request, lease);
        return request;
      } catch (e) {
        log.error(`cannot read the request of ${lease.url}; dropped: ${e.message}`);
        await this.#settle(lease, "drop");
      }
    }
    return null;
  }

  async *[Symbol.asyncIterator]() {
    for (let request; (request = await this.fetchNextRequest());) yield request;
  }

  // answered notes what a response says. A page that is not there is then a failure, and another spelling of its
  // URL gets its chance. A host that asks for it, by a Retry-After, is left alone, by all crawlers.
  answered(request, status, headers = {}) {
    const lease = this.#leases.get(request);
    if (!lease) return;
    lease.status = status;
    const wait = [429, 503].includes(status) ? retryAfter(headers) : 0;
    if (wait > 0) this.#blocked.set(lease.queue, Math.max(Date.now() + wait, this.#blocked.get(lease.queue) ?? 0));
  }

  // block is until when the host of a lease is to be left alone, by the daemon's clock, if it is.
  #block({ queue, skew }) {
    const until = this.#blocked.get(queue);
    if (until > Date.now()) return new Date(until + skew).toISOString();
    this.#blocked.delete(queue);
    return undefined;
  }

  // markRequestHandled settles a request that was handled, or that failed for good. One that failed
  // begins with no retries if somebody requeues it.
  async markRequestHandled(request) {
    const lease = this.#leases.get(request); // none if it led elsewhere
    const fetched = lease?.status && { url: request.url, status: lease.status };
    const failed = request.state === RequestState.ERROR_HANDLER || request.state === RequestState.SKIPPED;
    if (!failed) await this.#settle(lease, lease?.status >= 400 ? "drop" : "done", { fetched });
    else await this.#settle(lease, "drop", { fetched, metadata: { crawlee: [dump(request, { retryCount: 0 })] } });
    return { requestId: request.id, uniqueKey: request.uniqueKey, wasAlreadyPresent: true, wasAlreadyHandled: false };
  }

  // reclaimRequest puts a request back for its next attempt, as it is now. It is a release, not a retry:
  // how many attempts there are is Crawlee's to say.
  async reclaimRequest(request, { forefront = false } = {}) {
    const lease = this.#leases.get(request);
    if (!lease) return null;
    const at = this.#block(lease);
    await this.#settle(lease, at ? "defer" : "release", { at, metadata: { crawlee: [dump(request)] }, priority: forefront ? FOREFRONT : undefined });
    return { requestId: request.id, uniqueKey: request.uniqueKey, wasAlreadyPresent: true, wasAlreadyHandled: false, forefront };
  }

  // redirected reports the target of a redirect. A variant of the same page is fetched next, under
  // the same lease; another page is queued like a link. The target gets the cookies of the session, which
  // is that of the handler: a page may set one and lead back to itself. Too many redirects are a failure.
  async redirected(request, location, session) {
    const lease = this.#leases.get(request);
    if (!lease) return;
    const target = new URL(location, request.url).href;
    const cookies = session?.getCookieString(target);
    if (lease.discriminator) { // more than a URL: a form, or a page with a key of its own
      const { method, payload, headers, userData } = request;
      const again = [307, 308].includes(lease.status) ? { method, payload } : {};
      await this.addRequestsBatched([{ url: target, ...again, headers: withCookies(headers, cookies), userData, crawlDepth: request.crawlDepth }]);
      return this.#settle(lease, "redirected");
    }
    const { crawl, queue, key, token, url, url_bytes } = lease;
    const [{ follow, target: other }] = await this.#ask("/v1/redirect", { crawl, queue, key, token, url, url_bytes, target });
    this.#held.delete(lease);
    this.#leases.delete(request);
    const queued = !follow && (other.verdict === "new" || other.requeued);
    if (queued) this.#counts.pending++;
    if (cookies && (follow || queued)) this.#keep((follow ?? other).key, cookies);
    if (follow) {
      this.#hold(follow);
      this.#ready.unshift(follow);
      return;
    }
    const dropped = other.error?.code === "too-many-redirects";
    this.#over(dropped ? "dropped" : "done");
    if (dropped) throw new NonRetryableError(`${request.url} was dropped: ${other.error.message}`);
    if (other.error) log.warning(`refused ${target}, to which ${request.url} leads: ${other.error.message}`);
  }

  // keep keeps the cookies of a target. Those of a target that another process fetches are never used.
  #keep(key, cookies) {
    if (this.#cookies.size >= MAX_COOKIES) this.#cookies.delete(this.#cookies.keys().next().value);
    this.#cookies.set(key, cookies);
  }

  // isFinished reports whether the crawl has come to its end: nothing is queued or in flight, here or
  // in another process, or only a person can change what is left. why says which.
  async isFinished() {
    if (this.#adding > 0 || !(await this.isEmpty())) return false;
    if ((await this.#stats()).held === 0) this.#state = "finished";
    return this.#state === "finished" || this.#state === "limited";
  }

  // why says in a sentence why a crawl ended.
  get why() {
    const { done, dropped, pending } = this.#counts;
    const counts = `${done} requests are done, ${dropped} dropped as failed`;
    return {
      finished: `crawl ${this.crawl} is finished: ${counts}`,
      limited: `crawl ${this.crawl} has reached its limit: ${counts}, ${pending} wait; a higher limit lets the next run go on`,
    }[this.#state] ?? `interrupted: ${counts}, ${pending} of crawl ${this.crawl} wait; run it again to go on`;
  }

  async handledCount() {
    await this.#stats();
    return this.#counts.done + this.#counts.dropped;
  }

  getTotalCount() { return this.#counts.done + this.#counts.dropped + this.#counts.pending; }
  getPendingCount() { return this.#counts.pending; }

  // close releases what this process holds, so that the next one can begin with it. Call it after run.
  async close() {
    clearInterval(this.#timer);
    const leases = [...this.#held].map((lease) => ({ ...named(lease), outcome: "release" }));
    this.#held.clear();
    this.#ready = [];
    if (leases.length > 0) await this.#ask("/v1/done", { leases });
  }

  // Leases.

  #hold(lease) {
    lease.skew = Date.parse(lease.expires) - this.leaseSeconds * 1000 - Date.now(); // the daemon's clock less ours
    this.#held.add(lease);
    this.#timer ??= setInterval(() => this.#extend().catch((e) => log.warning(`cannot extend leases: ${e.message}`)), this.leaseSeconds * 333);
    this.#timer.unref();
  }

  async #extend() {
    const held = [...this.#held].filter((lease) => !lease.stale);
    if (held.length === 0) return;
    const leases = held.map((lease) => (
      { ...named(lease), outcome: "extend", at: new Date(Date.now() + lease.skew + this.leaseSeconds * 1000).toISOString() }));
    const [{ answers }] = await this.#ask("/v1/done", { leases });
    answers.forEach((answer, i) => { held[i].stale = answer === "stale"; });
  }

  async #settle(lease, outcome, more) {
    if (!this.#held.has(lease)) return; // settled already, as a redirect is
    // Whatever is settled for a blocked host tells the daemon.
    const [{ answers: [answer] }] = await this.#ask("/v1/done", { leases: [{ ...named(lease), outcome, block_queue_until: this.#block(lease), ...more }] });
    this.#held.delete(lease);
    if (answer === "stale") log.warning(`the lease of ${lease.url} was over; another crawler may fetch it too`);
    else if (answer === "gave-up") this.#over("dropped");
    else if (outcome !== "release" && outcome !== "defer") this.#over(outcome === "drop" ? "dropped" : "done");
  }

  #over(count) {
    this.#counts[count]++;
    this.#counts.pending = Math.max(this.#counts.pending - 1, 0);
  }

  // The daemon.

  async #stats() {
    const [stats] = await this.#ask(`/v1/stats?crawl=${encodeURIComponent(this.crawl)}`);
    this.#counts = { done: stats.completed, dropped: stats.dropped, pending: stats.held };
    return stats;
  }

  // ask posts JSON, a line for each value (without one it gets), and returns the lines of the answer.
  // Each call may be repeated: a URL that was stored is a duplicate then, a lease that was settled stale.
  async #ask(path, ...values) {
    const body = values.map((v) => JSON.stringify(v)).join("\n");
    const request = { headers: this.#headers, ...(values.length > 0 && { method: "POST", body }) };
    const until = Date.now() + this.giveUpSeconds * 1000;
    for (let wait = 100; ; wait = Math.min(2 * wait, 5000)) {
      let failure;
      try {
        const answer = await fetch(this.daemon + path, request);
        const text = await answer.text();
        this.#reached = true;
        if (answer.ok) return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
        failure = new Error(`firstseen at ${this.daemon} answered ${answer.status} to ${path}: ${text.trim()}`);
        if (!LATER.includes(answer.status)) throw failure;
      } catch (e) {
        if (e === failure) throw e;
        failure = new Error(`cannot reach firstseen at ${this.daemon}: ${e.cause?.message ?? e.message}`);
        if (!this.#reached) throw new Error(`${failure.message}; is \`firstseen serve\` running there?`);
      }
      if (Date.now() + wait > until) throw failure;
      if (wait > 1000) log.warning(`${failure.message}; trying again`);
      await new Promise((resolve) => { setTimeout(resolve, wait); });
    }
  }
}

const named = ({ crawl, key, token }) => ({ crawl, key, token });

// urlOf is the URL of a lease. JSON can't carry bytes that aren't UTF-8.
const urlOf = (lease) => (!lease.url_bytes ? lease.url : Buffer.from(lease.url_bytes, "base64").toString("latin1")
  .replace(/[^\x21-\x7e]/g, (c) => "%" + c.charCodeAt().toString(16).padStart(2, "0")));

const hash = (data) => createHash("sha256").update(data).digest("hex").slice(0, 32);
const plainKey = (url) => Request.computeUniqueKey({ url });

// retryAfter is for how many milliseconds a busy host asks to be left alone; a date counts by the host's own clock.
function retryAfter({ "retry-after": text = "", date }) {
  const now = Date.parse(date) || Date.now();
  const wait = /^\s*\d+\s*$/.test(text) ? text * 1000 : Date.parse(text) - now;
  return wait > 0 ? Math.min(wait, LONGEST_BLOCK) : 0;
}

// hasOwnKey reports whether a request has a uniqueKey that is not made from the request.
const hasOwnKey = (r) => r.uniqueKey !== plainKey(r.url) && r.uniqueKey !== Request.computeUniqueKey({ ...r, useExtendedUniqueKey: true });

// identity is what requests are compared by: the canonical form of the URL; for anything but a bare GET
// the method and the payload as well; or, as in Crawlee, the uniqueKey alone where there is one. The daemon
// makes keys from URLs, so such a key stands beside the root of the site and counts within that site.
function identity(r) {
  if (hasOwnKey(r) && URL.canParse(r.url)) {
    const key = r.uniqueKey.length <= 200 ? r.uniqueKey : hash(r.uniqueKey);
    return { url: new URL("/", r.url).href, discriminator: `uniqueKey ${key}` };
  }
  const plain = r.method === "GET" && !r.payload;
  return plain ? { url: r.url } : { url: r.url, discriminator: `${r.method} ${hash(r.payload ?? "")}` };
}

// dump writes down what of a request the daemon doesn't know, without what is at its default.
function dump(request, changes) {
  const r = { ...request, ...changes };
  const binary = r.payload && typeof r.payload !== "string";
  const stored = {
    url: hasOwnKey(r) ? r.url : undefined,
    uniqueKey: r.uniqueKey !== plainKey(r.url) ? r.uniqueKey : undefined,
    method: r.method !== "GET" ? r.method : undefined,
    payload: binary ? undefined : r.payload || undefined,
    payloadBase64: binary ? Buffer.from(r.payload).toString("base64") : undefined,
    headers: Object.keys(r.headers ?? {}).length > 0 ? r.headers : undefined,
    userData: r.userData,
    noRetry: r.noRetry || undefined,
    retryCount: r.retryCount || undefined,
    errorMessages: [...r.errorMessages],
  };
  for (;;) {
    const text = JSON.stringify(stored);
    if (Buffer.byteLength(text) <= MAX_STORED) return text;
    if (stored.errorMessages.shift() === undefined) { // the oldest goes first
      throw new Error(`cannot store the request of ${r.url}: it has ${text.length} characters beside its URL; keep what is large elsewhere, ${MAX_STORED} bytes fit`);
    }
  }
}

// withCookies is the headers of a request with more cookies; of one name the last counts.
function withCookies(headers, cookies) {
  if (!cookies) return headers;
  const { cookie, Cookie = cookie, ...others } = headers ?? {};
  return { ...others, Cookie: Cookie ? `${Cookie}; ${cookies}` : cookies };
}

// load is the request of a lease. A URL that another program queued is a plain GET.
function load(lease, cookies) {
  const { crawlee, ...metadata } = lease.metadata ?? {};
  const stored = crawlee ? JSON.parse(crawlee[0]) : { userData: { metadata }, label: metadata.label?.[0] };
  const { payloadBase64, ...options } = stored;
  if (payloadBase64) options.payload = new Uint8Array(Buffer.from(payloadBase64, "base64"));
  options.headers = withCookies(options.headers, cookies);
  return new Request({ url: urlOf(lease), crawlDepth: lease.depth ?? 0, ...options, id: lease.key });
}
