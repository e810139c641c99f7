// Package client is a frontier behind a daemon (firstseen serve), with the
// methods of a frontier in the process. A crawler written against
// [frontier.Interface] moves from one to the other by its constructor:
//
//	f, err := frontier.New(s, frontier.Options{}) // s is the store, see the package of it
//	f, err := client.Open(ctx, client.Options{Addr: "127.0.0.1:7072"})
//
// What a wire brings with it is handled here as far as it can be. Calls of many
// goroutines share requests, so that a durable commit is paid once for many.
// At most four requests of a kind are under way, and further callers
// wait, so that a slow daemon slows its crawlers and fills no memory.
// When the daemon is away, busy or out of disk, calls wait with growing pauses
// and continue by themselves when it is back, until [Options.Patience] or their
// context ends.
//
// # When an answer is lost
//
// A daemon that dies may have carried out what it never answered, and nobody
// can know. So it is with an answer that names no end, such as a proxy's 502 or the
// daemon's 503; only busy (429) and out of disk (507) mean that nothing was begun.
// The client sends again, and this is what it means:
//
//   - Adding: nothing is lost, and New is answered once. A URL that was
//     stored by the request that got no answer is Duplicate in the next,
//     with [frontier.Result.Resent] set. It is queued nevertheless, so a crawler
//     that fetches what is leased to it need not care.
//   - [Client.See]: there is no queue behind it, so a Duplicate with Resent may
//     be a page for which no caller got New. Treat it as new to fetch at least
//     once, or as a duplicate to fetch at most once.
//   - Leasing: URLs leased by an answer that got lost come back when their lease
//     runs out.
//   - Settling: the token of a lease is accepted once, so nothing is settled
//     twice. A settlement that was sent again and is stale then was carried out
//     before, or overtaken by another fetcher: it counts as [frontier.OK]. Only
//     one that was never sent twice can be [frontier.Stale]. An Extend is told
//     the truth in any case. A Retry whose answer was lost counts as put back,
//     although it may have been the last attempt.
//   - [Client.Redirect]: a target that was added before is a Duplicate with Resent.
//
// An error means that the same is unknown permanently: adding again is safe.
//
// # What else is different
//
//   - A batch is not one atomic step. It travels in parts of up to 1024 URLs,
//     each stored whole or not at all; of equal URLs the first is still the new
//     one. After an error, parts may be stored.
//   - Policy that isn't in [Options] is the daemon's: profile, exact crawls,
//     back-off, caps, traps, exclusion, how long URLs are remembered.
//   - Text that isn't UTF-8 is carried for URLs and their data, and nowhere else;
//     settings of crawls, limits, weights and pauses are not carried at all.
//     Such calls answer [ErrNotCarried].
//   - Times are by the daemon's clock; Expires and At mean little to a crawler
//     whose clock is another.
//   - A refused URL has no key and no queue in its Result.
//
// # Why by HTTP
//
// The daemon also speaks gRPC, in the protocol of URLFrontier. That has no word
// for a refusal or its reason, for the first spelling, for a lease's token, or
// for a redirect, so a fetcher that is late would overwrite what another one
// found. The lines of JSON carry all of it, and batches make them cost little;
// README.md has the figures. Use frontierpb for what speaks
// URLFrontier's protocol, and for the fastest bulk load.
package client
