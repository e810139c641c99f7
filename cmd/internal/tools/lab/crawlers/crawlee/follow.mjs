// Crawlee as its introduction has it: follow each link of the site.
import { CheerioCrawler, Configuration, ProxyConfiguration } from '@crawlee/cheerio';

const [seed, limit] = process.argv.slice(2);
const crawler = new CheerioCrawler({
    maxRequestsPerCrawl: Number(limit),
    proxyConfiguration: new ProxyConfiguration({ proxyUrls: [process.env.PROXY] }),
    requestHandler: async ({ enqueueLinks }) => { await enqueueLinks(); },
}, new Configuration({ persistStorage: false, systemInfoIntervalMillis: 60_000 }));
await crawler.run([seed]);
