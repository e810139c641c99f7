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
// # Two ways
//
//   - [Once] is the small way: colly keeps its own queue, the frontier only
//     says what is new. Two lines in an existing crawler.
//   - [Drive] is the whole way: the queue lives in the frontier too, with
//     politeness, leases and retries, and survives kill -9.
//
// This example has its own go.mod, so that colly and what it needs is no
// dependency of firstseen.
package main
