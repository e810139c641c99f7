// Command colly crawls with colly, and lets a frontier decide what is new.
//
// # Why
//
// Colly asks its storage whether a request was visited, and then tells it that
// it was: two steps. Between them another goroutine can do the same, and with
// a storage behind a network it will. Here the decision is one atomic step:
// of any number of goroutines that find a page, under any of its spellings,
// one is told that it is new. TestRace shows both, side by side.
//
// # Four ways
//
//   - [Once] is the small way, and the one to begin with: colly keeps its own
//     queue, the frontier only says what is new. One line in an existing crawler.
//   - [NewStorage] is for c.SetStorage: what was visited survives restarts, and
//     the race is gone without a change to colly. Identity stays colly's.
//   - [NewQueue] is for those who have a colly queue: requests on disk, each page
//     once, leased until it is scraped, so that a killed crawl resumes.
//   - [Drive] is the whole way: the queue lives in the frontier, with politeness,
//     leases and retries, and colly fetches and parses.
//
// Try it, here in this directory:
//
//	go run . -db crawl.db https://example.com/
//	go run . -daemon 127.0.0.1:7072 -crawl news https://example.com/
//
// Stop it with Ctrl-C or kill -9 and start it again: it goes on. All take a
// [frontier.Interface]: a frontier in the process, or, by another
// constructor, one behind a daemon that several crawlers share.
//
// This example has its own go.mod, so that colly and what it needs is no
// dependency of firstseen.
package main
