// Package frontier decides which URL a crawler may fetch next, and remembers every URL that was
// added.
//
//	s, err := pebblestore.Open("crawl.db", pebblestore.Options{}) // or memstore.New(memstore.Options{})
//	f, err := frontier.New(s, frontier.Options{})                 // close f, then s
//	f.Add(ctx, "https://example.com/")
//	for lease, err := range f.Leases(ctx) { // until nothing is queued or leased
//		if err != nil {
//			return err
//		}
//		for lease != nil {
//			resp, err := httpClient.Get(lease.URL) // a client that follows no redirects
//			page, follow, err := frontier.SettleResponse(ctx, f, lease, resp, err) // also of an error
//			if page { // or it was settled: dropped, retried, redirected
//				f.AddBatch(ctx, frontier.Links(lease, hrefs(resp)...)) // hrefs closes the body
//				f.Done(ctx, lease)
//			}
//			lease = follow // the same page by another URL: after a redirect, or as net/http can parse it
//		}
//	}
//
// With its errors handled, this is a complete crawler: see examples/embedded, and examples/crawler for one with
// many fetchers, robots.txt, a pass a day, and restarts.
//
// A crawler finds the same page repeatedly, under many variants of its URL, in many goroutines. A
// frontier compares URLs by their canonical forms, and answers "new" once for each: then the URL is
// queued. That is one atomic step, and it is durable when it returns. After a URL was completed or
// dropped, only Force, Put, Recrawl and expiry ([Options.SeenFor], Forget) queue it
// again. The frontier hands out URLs as leases: each URL to one fetcher at a time, each host no
// faster than its delay allows. The URL of a lease is the first-seen URL, unchanged. Fetch it, not
// its canonical form. If net/http can't parse it, as with a stray "%", [SettleResponse] has another spelling for it.
//
// # What is promised
//
//   - After kill -9 the state is the acknowledged one: seen URLs, queues, leases, delays, blocks,
//     caps and pauses.
//   - If a fetcher dies, its URL is handed out again when the lease expires. Until then the lease
//     counts for [Options.MaxInFlight]: with one fetch per host at a time, the host waits too, for
//     at most [Options.Lease]. A crawler that knows that its old fetchers are dead can end a
//     lease with [Frontier.Put], which describes how. If a fetcher is slower than Options.Lease, its
//     URL may be fetched twice.
//   - Delays count from one hand-out to the next ([Options.Delay]). By default one URL of a host is
//     leased at a time. A redirect to the same page is followed without the delay.
//   - URLs that look like crawler traps are refused by default ([Traps]). A refused URL is not
//     recorded as seen, so it can be added later, or with [Link.SkipTraps].
//
// Every answer waits for the disk, so batches are much faster than single calls.
//
// # Identity
//
// Two URLs are the same if they have the same crawl, the same canonical form under [Options.Profile], and
// the same [Link.Discriminator]. In an exact crawl, which has the profile canon.None
// ([Frontier.SetCrawlProfile]), they are the same if their bytes and their queues are equal. A store
// belongs to the profile of its first frontier: [New] refuses another profile with
// store.ErrIdentity.
//
// Report redirects with [Frontier.Redirect] or [SettleResponse], not as links: a target that is a
// variant of the same page would be a duplicate, and the page would never be fetched.
//
// A Frontier is safe for concurrent use. Several frontiers can share a store; each applies its own
// options, and hands out URLs of its own crawl ([Options.Crawl]). This package links no database: the
// caller opens the store, and closes it after its frontiers.
package frontier
