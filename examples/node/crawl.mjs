// Crawls the hosts of some URLs with firstseen serve: node crawl.mjs URL...
//
// The daemon decides which pages are new, which may be fetched now, and how long to wait for a host.
// This script fetches. Run several, kill them and start them again: they share the crawl that
// FIRSTSEEN_CRAWL names (default DEFAULT), and take no URLs of other crawls. FIRSTSEEN is the URL of
// the daemon (default http://127.0.0.1:7072).
const daemon = process.env.FIRSTSEEN ?? "http://127.0.0.1:7072";
const crawl = process.env.FIRSTSEEN_CRAWL ?? "DEFAULT";
const client = process.env.FIRSTSEEN_CLIENT; // its name: if it dies, "firstseen free --client NAME" frees its leases

// ask posts JSON, a line for each value, and returns the lines of the answer.
async function ask(path, ...values) {
  const body = values.map((v) => JSON.stringify(v)).join("\n");
  const answer = await fetch(daemon + path, { method: "POST", body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${text}`);
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

// offer offers URLs. Each must be answered: one that wasn't stored may be offered again.
async function offer(urls, depth = 0) {
  const answers = await ask("/v1/urls", ...urls.map((url) => ({ url, crawl, depth })));
  if (answers.length !== urls.length || answers.some((a) => a.verdict === "failed")) {
    throw new Error(`not all of ${urls.length} URLs were stored: ${JSON.stringify(answers.at(-1))}`);
  }
  answers.forEach((a, i) => a.verdict === "refused" && console.error("refused", urls[i], a.error.message));
}

// urlOf is the URL of a lease. JSON can't carry bytes that aren't UTF-8.
const urlOf = (lease) => (!lease.url_bytes ? lease.url : Buffer.from(lease.url_bytes, "base64").toString("latin1")
  .replace(/[^\x21-\x7e]/g, (c) => "%" + c.charCodeAt().toString(16).padStart(2, "0")));

const hostOf = (url) => (URL.canParse(url) ? new URL(url).hostname : "");

// visit fetches a page, offers its links to the same host, and reports the result.
async function visit(lease) {
  const named = { crawl: lease.crawl, key: lease.key, token: lease.token };
  const own = urlOf(lease);
  let page, html;
  try {
    page = await fetch(own, { redirect: "manual", signal: AbortSignal.timeout(30_000) });
    html = page.headers.get("content-type")?.startsWith("text/html") ? await page.text() : "";
  } catch {
    return { ...named, outcome: "retry" };
  }
  if (page.status >= 300 && page.status < 400 && page.headers.has("location")) {
    const location = page.headers.get("location");
    const target = URL.canParse(location, own) ? new URL(location, own).href : "";
    if (lease.depth && hostOf(target) !== hostOf(own)) return { ...named, outcome: "done" }; // only a seed may lead elsewhere
    const { queue, url, url_bytes } = lease;
    const [{ follow }] = await ask("/v1/redirect", { ...named, queue, url, url_bytes, target });
    return follow ? visit(follow) : null; // another page is queued like a link
  }
  const fetched = { url: own, status: page.status };
  if (!page.ok) return { ...named, fetched, outcome: page.status >= 500 || page.status === 429 ? "retry" : "drop" };
  const links = [...html.matchAll(/<a\s[^>]*?href="([^"]+)"/gi)].map((m) => m[1].replaceAll("&amp;", "&"))
    .filter((link) => URL.canParse(link, own)).map((link) => new URL(link, own).href)
    .filter((url) => hostOf(url) === hostOf(own));
  await offer(links, (lease.depth ?? 0) + 1);
  console.log("fetched", own);
  return { ...named, outcome: "done", fetched };
}

process.on("SIGINT", () => {
  console.log(`interrupted: run it again to go on with crawl ${crawl}`);
  process.exit(130); // what was in flight is leased again within 120 s
});
await offer(process.argv.slice(2));
for (;;) {
  const [answer] = await ask("/v1/lease", { crawl, client, max: 10, wait_seconds: 20, lease_seconds: 120 });
  if (answer.finished || answer.state === "limited") {
    console.log(answer.finished ? "finished: nothing is left in crawl" : "limited: some URLs wait in crawl", crawl);
    break;
  }
  const settled = await Promise.all(answer.leases.map((lease) => visit(lease)));
  await ask("/v1/done", { leases: settled.filter(Boolean) });
}
