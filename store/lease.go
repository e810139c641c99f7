package store

import (
	"hash/fnv"
	"io"
	"time"
)

// TakeRequest asks for URLs that are due.
type TakeRequest struct {
	Crawl string // "*" takes from any crawl
	Queue string // only from this queue of one crawl; "" takes from any, in fair rotation

	// MaxURLs bounds the answer. The default is 1. Here and below, a negative number or
	// duration is the default, too.
	MaxURLs int
	// MaxBytes ends the answer with the URL whose text and Meta bring it to this size, as if
	// MaxURLs were reached. The default is no bound. A store in another process may send more.
	MaxBytes int64
	// MaxQueues bounds the number of queues taken from. The default is no bound.
	MaxQueues int
	// MaxPerQueue bounds the URLs of one queue. The default is 1.
	MaxPerQueue int
	// Lease is how long the URLs are held for the caller. The default is 30 s.
	Lease time.Duration

	// Client names who leases, in at most [MaxClient] bytes. It is kept with the lease ([Entry.Client]), and no store reads
	// it. The default is none.
	Client string

	// Delay is the politeness delay of queues that have none of their own: the least
	// time from this take of a queue to the next, whatever the next request asks for. The
	// default is none.
	Delay time.Duration
	// MaxInFlight bounds the leases of one queue that run at any time, for
	// queues that have no bound of their own; leases that ran out don't count.
	// The default is no bound.
	MaxInFlight int
}

// MaxClient is the maximum length of the name of a client, in bytes.
const MaxClient = 64

// Taken is the answer of Take.
type Taken struct {
	// Leases are URLs leased to the caller: until a lease expires no other fetcher gets its URL.
	Leases []Entry
	// Next is when to repeat the request, if nothing is added, settled or changed before. A
	// caller that waits until Next misses nothing: the request would get nothing before it. The
	// times that count are due times, the ends of leases, and the delays, blocks, pauses and
	// bounds of queues; and the time of the call, if MaxQueues left something, or MaxPerQueue in
	// a queue without a delay. Next may be too early, but not before the first of these times
	// that is after the call. It is zero if no time changes anything, and if MaxURLs or MaxBytes
	// is reached.
	Next time.Time
	// State is the reason why there are no leases, over all that the request may take from: the crawls, or the one
	// queue. It is Served if there are leases.
	State TakeState
	// Holding counts the queues that hold something, by what keeps them, if there are no leases.
	Holding Holding
}

// TakeState says why an answer of Take has no leases.
type TakeState uint8

// The states of a Taken without leases. The first that holds is the state.
const (
	Served   TakeState = iota // there are leases
	Finished                  // nothing is held
	Paused                    // the store or the crawl is paused, or each queue that holds something is
	Waiting                   // a lease runs: its result may queue URLs, or make room under a limit
	Limited                   // each queue that holds something has reached a limit, its own or its crawl's, or is paused
	Blocked                   // the first thing to open is blocked until Next
	Delayed                   // the first thing to open waits for a delay or a due time, until Next
)

// String returns the state as a word: "finished", for example.
func (s TakeState) String() string {
	words := [...]string{"served", "finished", "paused", "waiting", "limited", "blocked", "delayed"}
	if int(s) < len(words) {
		return words[s]
	}
	return "unknown"
}

// Holding counts the queues that hold something, and those of them held back by a pause, a reached limit or a block
// of the queue, its crawl or the store. Each counts under one reason, the first of these. A block does not count
// if the delay or the due time of the first URL is later.
type Holding struct {
	Queues, Paused, Limited, Blocked int64
}

// Outcome is what becomes of a URL.
type Outcome uint8

// The outcomes of a Settlement.
const (
	Complete Outcome = iota // done: seen, no longer held, counted as completed
	Requeue                 // queued again, due at Due
	Drop                    // given up: seen, no longer held, counted as dropped
	Extend                  // still leased under the same token, until Due (zero: it ends now)
)

// Settlement is the outcome of one URL. The comment of [Store] has a table of its effect on a URL in
// each state.
type Settlement struct {
	Key Key
	// Token is the lease's. 0 settles the URL without regard to leases, and ends
	// any lease, except that Extend moves its end.
	Token   uint64
	Outcome Outcome
	// Late accepts the token of an earlier lease of the same round, too: a fetched page counts, whoever has
	// the URL now. A lease that runs then is overtaken: see [Store]. Only for Complete, and for Requeue with
	// NewRound. The default is false.
	Late bool
	Due  time.Time // for Requeue and Extend; zero: immediately
	// After, unless 0, replaces Due: the URL is due this long after the step, by the
	// store's clock, which may differ from the caller's. It must not be negative.
	After time.Duration

	// Fetched counts a fetched page for the queue, and towards its limits. Only for Complete and Requeue.
	Fetched bool
	// Failed counts a page that was given up after a failure. Only for Drop.
	Failed bool
	// Mark marks the key with the [Spelling] that failed, if it is not 0: see [Item.Variant]. Only for Drop, and
	// without effect on a URL that is [Entry.Respelled].
	Mark uint32

	// Ended is when the URL was completed or dropped, if a log or another store has an earlier time than the step's: see [Entry.Ended]. A URL that
	// had already ended keeps the later time. Only for Complete and Drop. The default is the time of the step.
	Ended time.Time

	// URL replaces the fetch URL. With Create it is the URL of a new entry,
	// and has no effect on an existing one. The default keeps it.
	URL string
	// Meta replaces the caller's data; nil keeps it. The store keeps a copy.
	Meta []byte
	// Priority replaces the priority; nil keeps it.
	Priority *uint8
	// NewRound begins a new round, as after a success: the count of leases is 0, and earlier tokens are stale.
	NewRound bool
	// If settles a known URL only in this state; in another it is Stale. Token must be 0, and Create false. The default,
	// SeenOnly, is any state.
	If State

	// Create makes a URL from the settlement, in this Queue, which must be named, if the
	// state of the key is unknown or seen (see the table of [Store]). Token must be 0, and
	// Outcome not Extend. The default is false.
	Create bool
	Queue  string
	// UnicodeHost is [Item.UnicodeHost], for Create.
	UnicodeHost bool

	// QueueChange is applied to the URL's queue in the same step, if the step
	// changes the URL or finds it Done already; nil changes nothing.
	QueueChange *QueueChange
}

// SettleStatus is the answer to one settlement.
type SettleStatus uint8

// The answers of Settle.
const (
	Settled     SettleStatus = iota // the outcome was applied, or had been before
	Created                         // the key was unknown, and the URL was created
	Unknown                         // the key is unknown, or not held and the outcome needs that: nothing changed
	Stale                           // the token is not accepted, or Extend of a queued URL, or the URL is in another state than If: nothing changed
	Unreadable                      // the record of whether the key is known is damaged: nothing changed
	AlreadyDone                     // an earlier lease of the round has settled the URL: this one is over, nothing else changed
)

// Spelling returns a hash of a URL as it is spelled, never 0, for [Settlement.Mark].
func Spelling(url string) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, url) // never fails
	return max(1, h.Sum32())
}
