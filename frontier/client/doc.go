// Package client is a frontier in a daemon (firstseen serve), with the methods of
// [frontier.Interface]. If a crawler uses no others, its constructor and its options change:
//
//	f, err := frontier.New(s, frontier.Options{}) // s is a store
//	f, err := client.Open(ctx, client.Options{Addr: "127.0.0.1:7072"})
//
// Calls of many goroutines share requests, so that they share a durable commit. At most four requests
// of a kind are in flight; further callers wait, so a slow daemon slows its crawlers and
// fills no memory. If the daemon is down, busy or out of disk, calls wait with growing pauses, and
// continue when it is back, until [Options.Patience] or their context ends.
//
// # If an answer is lost
//
// A daemon that dies may have carried out a request that it did not answer. The same holds if the
// answer is a proxy's 502 or the daemon's 503. (With 429, busy, and 507, out of disk, nothing was
// begun.) The client sends such a request again. The consequences:
//
//   - Adding: nothing is lost, and New is answered once. A URL that the first request stored is
//     Duplicate, with [frontier.Result.Resent] set. It is queued, so a crawler that fetches its
//     leases need not care.
//   - [Client.See]: there is no queue, so a Duplicate with Resent may be a page for which no caller got New.
//     Treat it as new to fetch the page at least once, or as a duplicate to fetch it at most once.
//   - Leasing: URLs of the lost answer are leased again when their leases expire.
//   - Settling: the daemon accepts the token of a lease once, so nothing is settled twice. If a
//     settlement is stale when it is sent again, it counts as [frontier.OK]: it was carried out before,
//     or another fetcher has settled the URL. Only an Extend can be Stale after it was sent again. A
//     Retry whose answer was lost counts as put back, although it may have been the last attempt.
//   - [Client.Redirect]: a target that was added before is a Duplicate with Resent.
//
// If a call returns an error, its result stays unknown. Adding again is always safe.
//
// # Other differences from a frontier in the process
//
//   - A batch is not one atomic step. It is sent in parts of up to 1024 URLs, each stored whole or
//     not at all. Of equal URLs the first is the new one. After an error, some parts may be stored.
//   - Policy that is not in [Options] is the daemon's: profile, exact crawls, back-off, caps,
//     traps, exclusion, and the age at which URLs are forgotten: see the flags of firstseen serve. To keep
//     a crawl on its hosts, drop leases of other hosts, or give the daemon a list (--exclude-hashed).
//   - There are no events, no listings, and no Put, Forget and LeaseWait. Operators have the
//     dashboard, the metrics and the commands of firstseen.
//   - Text that is not UTF-8 is supported for URLs and their data only, and Configure changes no NotBefore.
//     Other such calls return [ErrNotCarried].
//   - Times are by the daemon's clock.
//   - The Result of a refused URL has no key and no queue.
//
// The client uses HTTP, because URLFrontier's gRPC protocol has no refusals with a reason, no
// first-seen URL, no token of a lease, and no redirect. docs/RESULTS.md has the figures. For servers
// that only speak URLFrontier's protocol, and for the fastest bulk load, use frontierpb.
package client
