// Package frontier decides which URL a crawler may fetch next, and remembers
// everything it was ever given.
//
// A crawler finds the same page again and again, under many spellings, from
// many goroutines at once. A frontier takes each URL as it was found, compares
// it by its canonical form, and queues it only if no caller was told "new" for it
// before. That is one atomic step, durable when it returns: there is no check
// before it and no mark after it, so no race between the two. What may be
// fetched is then handed out as leases, one URL to one fetcher at a time, each
// host no faster than is polite.
//
//	s, err := pebblestore.Open("crawl.db", pebblestore.Options{}) // or memstore.New(memstore.Options{})
//	f, err := frontier.New(s, frontier.Options{})                 // close f, then s
//	f.Add(ctx, "https://example.com/")
//	for lease, err := range f.Leases(ctx) { // until nothing is queued or leased
//		for lease != nil && err == nil {
//			resp, errFetch := client.Get(lease.URL) // a client that follows no redirects
//			page, follow, err := frontier.SettleResponse(ctx, f, lease, resp, errFetch)
//			if page { // or it was settled: dropped, retried, redirected
//				f.AddBatch(ctx, frontier.Links(lease, hrefs(resp)...))
//				f.Done(ctx, lease)
//			}
//			lease = follow // the same page by another URL, after a redirect
//		}
//	}
//
// With the errors handled, that is a whole crawler: see examples/embedded.
//
// The URL handed out is the one that was found first, unchanged: fetch that,
// never the canonical form, which is only for comparing.
//
// # What it trades
//
//   - A lease is a promise with an end. A fetcher that dies loses nothing: the
//     URL is handed out again when its lease runs out. One that is merely slow
//     may see its URL fetched twice; [Options.Lease] is how slow it may be.
//   - Every answer waits for the disk, so batches are far faster than single
//     calls. The state after kill -9 is the state that was acknowledged: seen
//     URLs, queues, leases, delays, blocks, caps, pauses.
//   - Politeness counts from one hand-out to the next (see [Options.Delay]),
//     and by default one URL per host is out at a time. A single host is then
//     as fast as its delay allows, whatever the number of fetchers.
//   - Traps are on by default ([Traps]). A refused URL is not recorded as seen:
//     it has another chance when the limits change, or with [Link.SkipTraps].
//
// # Identity
//
// Two URLs are the same if their canonical forms under [Options.Profile] are
// equal, they belong to the same crawl, and carry the same
// [Link.Discriminator]. In an exact crawl ([Frontier.SetCrawlProfile] with canon.None) they are the same if
// their bytes and their queues are. A store belongs to the profile of the
// first frontier on it, so that rules can't change under its keys: [New] refuses another
// profile with store.ErrIdentity.
//
// # Redirects
//
// http://a.example/ answers 301 to https://a.example/, and the rules in force
// say that both are one page. A frontier that treats the target as any link
// answers "duplicate", and the page is never fetched. So tell it through
// [Frontier.Redirect]: a target with the key of its source is to be followed
// now, under the same lease; any other is added like a link and the lease is
// done. Chains and loops end at [Options.MaxRedirects].
//
// # Map
//
//   - adding: [Frontier.Add], [Frontier.AddBatch], [Frontier.See], [Frontier.Put]
//   - fetching: [Frontier.Leases], [Frontier.Next], [Frontier.Lease], [Frontier.LeaseWait]
//   - settling: [Frontier.Done], [Frontier.Retry], [Frontier.Recrawl], [Frontier.Drop],
//     [Frontier.Release], [Frontier.Redirect], many at a time or in other ways [Frontier.Settle],
//     and by an HTTP response [SettleResponse]
//   - steering: [Frontier.Configure] (delay, pause, block, weight), [Frontier.Forget],
//     [Frontier.SetCrawlProfile], [Frontier.SetProfile]
//   - looking: [Frontier.Lookup], [Frontier.Stats], [Frontier.Queue], [Frontier.Queues],
//     [Frontier.Entries], [Frontier.Crawls], [Frontier.Refusals], [Frontier.Profile]
//
// A Frontier may be used by any number of goroutines. Several frontiers may
// share one store; each then applies its own options, and hands out URLs of its
// own crawl ([Options.Crawl]). This package links no database: the caller opens the
// store with its own package, and closes it after the frontiers on it.
package frontier
