// Crawls the hosts of some URLs with Crawlee and firstseen serve: node crawl.mjs URL...
// FIRSTSEEN names the daemon, by default http://127.0.0.1:7072.
import { CheerioCrawler, Configuration } from "@crawlee/cheerio";
import { Frontier } from "./frontier.mjs";

const frontier = new Frontier(process.env.FIRSTSEEN);
const crawler = new CheerioCrawler({
  additionalMimeTypes: ["*/*"],
  preNavigationHooks: [(_, options) => { options.followRedirect = false; }], // the frontier decides
  async requestHandler({ request, response, enqueueLinks, log }) {
    if (response.headers.location) return frontier.redirected(request, response.headers.location);
    await enqueueLinks({ strategy: "same-hostname" });
    log.info(`fetched ${request.url}`);
  },
}, new Configuration({ persistStorage: false }));
crawler.requestManager = crawler.requestQueue = frontier; // CheerioCrawler 3.18 refuses the option requestManager

await crawler.run(process.argv.slice(2));
