// Package yield finds path templates whose fetches bring content that is known already: traps by
// yield. URLs of such a template are queued with a lower priority. Nothing queued moves, and
// nothing is dropped.
//
// A template is the shape of a canonical URL (package shape), up to 256 bytes. A fetch counts if
// it reports a digest, with status 2xx or none. It brings known content if
//
//   - another URL of the host brought the same digest before, or
//   - it declares a canonical link with its own path, on its own host, and another URL has that
//     canonical form or declared it before. A link to another path counts for nothing: sites
//     that name their home page everywhere are common.
//
// A second fetch of one URL does not count. A template with at least 20 fetches, of which 90 %
// brought known content, is lowered. Its URLs are still fetched when nothing else of their
// queue is due. If fewer than 80 % of its fetches bring known content, it is raised again. The
// counts are halved at 64 fetches, so that the latest fetches decide. An operator can lift the
// rule from a template until the process ends.
//
// The lowest priority, 0, is reserved for lowered URLs: [frontier.Options.Lower] queues all others
// with at least 1. The alternative, to store all priorities one higher, would have to translate
// them in every call that reads or writes one. URLs that were queued with priority 0 before
// count as lowered, so the mode is best switched on with the crawl.
//
// The state is in memory only, and is learned again after a restart: 4 MiB for 262,144 contents,
// two or three for each fetched URL, and up to 1.2 MiB for 4,096 templates. The oldest content of a group of
// four is evicted; its next fetch counts as new. The template with the fewest fetches of a group of eight is evicted.
//
// What it cannot find: traps whose every page differs, such as a calendar that prints its
// month. Sites with a session ID in every URL have one template for the trap and the real pages.
// URLs that are queued before their template is lowered keep their place, so a trap of a few
// thousand URLs is mostly queued by then. TestTrapsByYield prints what share of fetches goes to
// traps, and what share would if an oracle knew each URL of a trap.
// A site that declares page 1 as the canonical link of each page of a list, by a parameter, has
// these pages fetched late.
package yield
