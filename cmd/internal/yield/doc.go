// Package yield finds path templates whose fetches bring content that is known already: traps by
// yield. URLs of such a template are queued with a lower priority. URLs that were queued before go
// back with it, once, when their turn comes. Nothing is dropped.
//
// A template is the shape of a canonical URL (package shape), up to 256 bytes. A fetch counts if
// it reports a digest, with status 2xx or none. It brings known content if
//
//   - another URL of the host brought the same digest before, or
//   - it declares a canonical link with its own path, on its own host, and another URL has that
//     canonical form or declared it before. A link to another path counts for nothing: sites
//     that name their home page everywhere are common.
//
// A second fetch of one URL does not count. A fetch counts for its template, and for the groups that
// the template is in: those of its path with one of its parameters, with any, and those below each
// of its directories. The name of a group ends in {rest}.
//
//	shop.example/list?color&size      a template
//	shop.example/list?size&{rest}     its path with this parameter and others
//	shop.example/list?{rest}          its path with any parameters
//	shop.example/s/{hash}/{rest}      what is below a directory
//
// Each has a score from -8 to 12, which is 0 at first. Known content adds 1, new content takes away 8.
// At 8 the template or the group is lowered, and below 0 it is raised again. Three kinds need less:
//
//   - Below a directory that looks like an ID (a hash or a UUID), as sites have it that put sessions
//     into paths, 3 suffice.
//   - If all URLs have two or more parameters, known content adds 2 and new content takes away 1, with a
//     score from -8 to 40: lowered at 32. So one known content in 3 fetches keeps it where it is.
//   - If the queries of the path have 6 or more sets of parameters, as those of facets do, known content
//     adds 8: lowered at 18. So one known content in 9 fetches keeps it where it is.
//
// URLs of a group that is lowered have a lower priority, also if their template was never fetched,
// unless a smaller group brings new content. They are still fetched when nothing else of their
// queue is due. An operator can lift the rule from a template or a group until the process ends.
//
// The lowest priority, 0, is reserved for lowered URLs: [frontier.Options.Lower] queues all others
// with at least 1. The alternative, to store all priorities one higher, would have to translate
// them in every call that reads or writes one. URLs that were queued with priority 0 before
// count as lowered, so the mode is best switched on with the crawl.
//
// The state is in memory only, and is learned again after a restart: 4 MiB for 262,144 contents,
// two or three for each fetched URL, and up to 2.5 MiB for 8,192 templates and groups. The oldest
// content of four that share a place is evicted; its next fetch counts as new. Of eight templates that
// share a place, the one with the fewest fetches is evicted.
//
// What it cannot find: traps whose every page differs, such as a calendar that prints its
// month. To digests and links such a calendar is an archive of many pages: fetches of both lead to
// nothing but more of their directory (TestLinksOfCalendars). One whose months without events are equal
// is found after the part with events, not before (TestCalendarByDirectory). Pages that only sort
// differently differ as well: without canonical links, facets are found by those
// listings that show at most one product.
// Sites with a session ID in every URL have one template for the trap and the real pages.
// TestShareOfTraps prints what share of fetches goes to traps, and what share would if an oracle knew
// each URL of a trap.
// A site that declares page 1 as the canonical link of each page of a list, by a parameter, has
// these pages fetched late. So has one whose pages have two parameters, if a fifth are copies, or
// fewer if there are 6 sets of parameters (TestCopiesOfCombinations).
package yield
