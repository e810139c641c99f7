// Command colly crawls with colly, and a frontier decides which pages are new. Run it in this
// directory:
//
//	go run . -db crawl.db https://example.com/
//	go run . -daemon 127.0.0.1:7072 -crawl news https://example.com/
//
// Stop it with Ctrl-C or kill -9 and start it again: it continues.
//
// # Why
//
// Colly asks its storage whether a request was visited, and then records the visit: two steps.
// Between them another goroutine can do the same, especially if the storage is behind a network.
// The frontier decides in one atomic step: if any number of goroutines find a page, under any
// variant of its URL, one gets the answer "new". TestRace shows both.
//
// # Four ways to use it
//
//   - [Once] is the smallest change, and the one to begin with: colly keeps its own queue, and the
//     frontier only decides which pages are new. It is one line in an existing crawler.
//   - [NewStorage] is for c.SetStorage: visits survive restarts, and the race is removed without a
//     change to colly. Identity stays colly's.
//   - [NewQueue] is for crawlers with a colly queue: requests are on disk, each page is leased until
//     it is scraped, and a killed crawl resumes.
//   - [Drive] replaces the loop: the queue is in the frontier, with politeness, leases and retries,
//     and colly fetches and parses.
//
// Each takes a [frontier.Interface]: a frontier in the process, or the client of a daemon that
// several crawlers share.
//
// This example has its own go.mod, so that firstseen does not depend on colly.
package main
