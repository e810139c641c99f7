// Crawls the hosts of some URLs with firstseen serve: node crawl.mjs URL...
//
// The daemon decides which pages are new, which may be fetched now, and how long to wait for a host.
// This script fetches. Run several, kill them and start them again: they share the crawl that
// FIRSTSEEN_CRAWL names (default DEFAULT), and take no URLs of other crawls. FIRSTSEEN is the URL of
// the daemon (default http://127.0.0.1:7072), and FIRSTSEEN_CLIENT the name of this process: its leases
// end FIRSTSEEN_LEASE seconds after it died (default 120), or by "firstseen free --client".
const { FIRSTSEEN: daemon = "http://127.0.0.1:7072", FIRSTSEEN_CRAWL: crawl = "DEFAULT", FIRSTSEEN_CLIENT: client } = process.env;
const leaseSeconds = Number(process.env.FIRSTSEEN_LEASE ?? 120);

// ask posts JSON, a line for each value (without one it gets), and returns the lines of the answer.
async function ask(path, ...values) {
  const body = values.map((v) => JSON.stringify(v)).join("\n");
  const url = (daemon.includes("://") ? daemon : `http://${daemon}`) + path;
  const answer = await fetch(url, body ? { method: "POST", body } : {}).catch((e) => {
    throw new Error(`cannot reach firstseen at ${daemon}: ${e.cause?.message ?? e.message}; is \`firstseen serve\` running there (FIRSTSEEN)?`);
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`firstseen at ${daemon} answered ${answer.status}: ${text.trim()}`);
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

// offer offers URLs. Each must be answered: one that wasn't stored may be offered again.
async function offer(urls, depth = 0) {
  const answers = urls.length > 0 ? await ask("/v1/urls", ...urls.map((url) => ({ url, crawl, depth }))) : [];
  if (answers.length !== urls.length || answers.some((a) => a.verdict === "failed")) {
    throw new Error(`not all of ${urls.length} URLs were stored: ${JSON.stringify(answers.at(-1))}`);
  }
  answers.forEach((a, i) => a.verdict === "refused" && console.error("refused", urls[i], a.error.message));
}

// urlOf is the URL of a lease. JSON can't carry bytes that aren't UTF-8.
const urlOf = (lease) => (!lease.url_bytes ? lease.url : Buffer.from(lease.url_bytes, "base64").toString("latin1")
  .replace(/[^\x21-\x7e]/g, (c) => "%" + c.charCodeAt().toString(16).padStart(2, "0")));

const hostOf = (url) => (URL.canParse(url) ? new URL(url).hostname : "");

// cookies holds the cookies of each host by name: some pages set one and redirect to themselves.
const cookies = new Map();

function cookiesOf(url) {
  const host = hostOf(url);
  if (!cookies.has(host)) cookies.set(host, new Map());
  return cookies.get(host);
}

// leftAlone says until when a busy host asks to be left alone, at most a day.
function leftAlone({ status, headers }) {
  const text = headers.get("retry-after") ?? "";
  const wait = Math.min(/^\d+$/.test(text) ? text * 1000 : Date.parse(text) - Date.now(), 86_400_000);
  return wait > 0 && [429, 503].includes(status) ? { block_queue_until: new Date(Date.now() + wait).toISOString() } : {};
}

// visit fetches a page, offers its links to the same host, and reports the result.
async function visit(lease) {
  const named = { crawl: lease.crawl, key: lease.key, token: lease.token };
  const own = urlOf(lease);
  let page, html;
  try {
    const cookie = [...cookiesOf(own)].map((c) => c.join("=")).join("; ");
    page = await fetch(own, { redirect: "manual", headers: cookie ? { cookie } : {}, signal: AbortSignal.timeout(30_000) });
    for (const set of page.headers.getSetCookie()) {
      const [, name, value] = set.match(/^([^=;]*)=([^;]*)/) ?? [];
      if (name) cookiesOf(own).set(name.trim(), value.trim());
    }
    html = page.headers.get("content-type")?.startsWith("text/html") ? await page.text() : "";
  } catch {
    return { ...named, outcome: "retry" };
  }
  if (page.status >= 300 && page.status < 400 && page.headers.has("location")) {
    const location = page.headers.get("location");
    const target = URL.canParse(location, own) ? new URL(location, own).href : "";
    if (lease.depth && hostOf(target) !== hostOf(own)) return { ...named, outcome: "done" }; // only a seed may lead elsewhere
    const { queue, url, url_bytes } = lease;
    const [{ follow, target: other }] = await ask("/v1/redirect", { ...named, queue, url, url_bytes, target });
    if (other?.error) console.error("refused", target, other.error.message);
    return follow ? visit(follow) : null; // another page is queued like a link
  }
  const fetched = { url: own, status: page.status };
  if (!page.ok) return { ...named, ...leftAlone(page), fetched, outcome: page.status >= 500 || page.status === 429 ? "retry" : "drop" };
  const links = [...html.matchAll(/<a\s[^>]*?href="([^"]+)"/gi)].map((m) => m[1].replaceAll("&amp;", "&"))
    .filter((link) => URL.canParse(link, own)).map((link) => new URL(link, own).href)
    .filter((url) => hostOf(url) === hostOf(own));
  await offer(links, (lease.depth ?? 0) + 1);
  console.log("fetched", own);
  return { ...named, outcome: "done", fetched };
}

process.on("SIGINT", () => {
  console.log(`interrupted: run it again to go on with crawl ${crawl}`);
  process.exit(130); // what was in flight is leased again within FIRSTSEEN_LEASE seconds
});

// why says why there was nothing to lease for ten seconds.
async function why({ state, next }) {
  const [{ queues: [queue] }] = await ask(`/v1/queues?order=waiting&limit=1&crawl=${encodeURIComponent(crawl)}`);
  const held = queue?.reason ? `; queue ${queue.queue}: ${queue.reason}` : "";
  const died = state === "waiting" ? `; if another crawler died, "firstseen free --crawl ${crawl} --state leased" ends its leases` : "";
  return `crawl ${crawl} is ${state}${next ? ` until ${next}` : ""}${held}${died}`;
}

async function main() {
  await offer(process.argv.slice(2));
  for (let told; ;) {
    const [answer] = await ask("/v1/lease", { crawl, client, max: 10, wait_seconds: 10, lease_seconds: leaseSeconds });
    if (answer.finished || answer.state === "limited") {
      const [{ fetched, dropped, held }] = await ask(`/v1/stats?crawl=${encodeURIComponent(crawl)}`);
      console.log(`${answer.finished ? "finished" : "limited"}: ${fetched} pages fetched, ${dropped} dropped as failed, ${held} wait in crawl ${crawl}`);
      return;
    }
    if (answer.state) {
      const says = await why(answer);
      if (says !== told) console.log(says);
      told = says;
    }
    const settled = await Promise.all(answer.leases.map((lease) => visit(lease)));
    await ask("/v1/done", { leases: settled.filter(Boolean) });
  }
}

main().catch((e) => {
  console.error(`${e.message}; run it again to go on`);
  process.exit(1);
});
