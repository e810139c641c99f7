// Crawls the hosts of some URLs with Crawlee and firstseen serve: node crawl.mjs URL...
// FIRSTSEEN names the daemon, by default http://127.0.0.1:7072, and FIRSTSEEN_CRAWL the
// crawl, by default DEFAULT: crawlers of one crawl share it, and leave others alone.
// FIRSTSEEN_LEASE is how many seconds the pages of a crawler that died wait for another, by default 60;
// "firstseen free" frees them sooner, of one crawler by the name that it has in FIRSTSEEN_CLIENT.
import { CheerioCrawler, Configuration, log } from "@crawlee/cheerio";
import { Frontier } from "./frontier.mjs";

const { FIRSTSEEN, FIRSTSEEN_CRAWL, FIRSTSEEN_LEASE = "60", FIRSTSEEN_CLIENT } = process.env;
const frontier = new Frontier(FIRSTSEEN, FIRSTSEEN_CRAWL, Number(FIRSTSEEN_LEASE), 300, FIRSTSEEN_CLIENT);
const elsewhere = (from, to) => !URL.canParse(to, from) || new URL(to, from).hostname !== new URL(from).hostname;
const crawler = new CheerioCrawler({
  additionalMimeTypes: ["*/*"],
  preNavigationHooks: [(_, options) => { options.followRedirect = false; }], // the frontier decides
  postNavigationHooks: [({ request, response }) => frontier.answered(request, response.statusCode, response.headers)],
  async requestHandler({ request, response, session, enqueueLinks, log }) {
    const { location } = response.headers;
    if (location && request.crawlDepth > 0 && elsewhere(request.url, location)) return; // only a seed may lead there
    if (location) return frontier.redirected(request, location, session);
    await enqueueLinks({ strategy: "same-hostname" });
    log.info(`fetched ${request.url}`);
  },
  failedRequestHandler: ({ request, log }) => log.error(`gave up ${request.url}: ${request.errorMessages.at(-1)}`),
}, new Configuration({ persistStorage: false }));
crawler.requestManager = crawler.requestQueue = frontier; // CheerioCrawler 3.18 refuses the option requestManager

try {
  await crawler.run(process.argv.slice(2));
  await frontier.close();
  log.info(frontier.why);
} catch (e) { // the daemon is away, or refuses us
  log.error(e.message);
  process.exit(1);
}
