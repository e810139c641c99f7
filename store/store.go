// Package store defines the durable store of a crawl: the keys that it has seen, and its queues.
//
// The main step is to add a batch of keys: the store records the new ones and queues their URLs, in one
// atomic and durable step. If any number of callers add a key at the same time, at most one of them
// gets "new". The others get "duplicate" only after the write of the first is durable.
//
// A [Store] has the few atomic steps that a frontier needs: add, take due URLs, settle, configure,
// forget, look up, scan. The caller decides the policy: delays, back-off, the meaning of a
// priority. Policy that must be applied inside a step (a cap, a delay) is an argument of the step.
// So a backend has none of its own: memstore, the simplest one, is maps of keys and queues around
// store/internal/sched, which decides whose turn it is.
//
//	pebblestore  embedded, durable: the default
//	redisstore   Redis Cluster, shared by many daemons
//	memstore     for tests, models, and crawls that may be lost
//
// The suite in storetest tests all of them against the same contract, which [Store] documents. One
// promise is weaker in redisstore, and in pebblestore for batches of more than about 2,000: a failed call may have been carried out
// for some of its URLs, each of them completely. Repeating it is safe on all backends.
//
// # Time
//
// Times and durations are kept in whole milliseconds. Those before which nothing may happen (due,
// blocked until, not before, the end of a lease, a delay) are rounded up. Times before 1970 become
// 1970.
//
// If the clock is set back by more than a second, behind the latest time at which a step read it,
// nothing is lost or served early. Intervals that began at a later time than now start again at the
// next take: the delay of a queue since its last take, [QueueChange.NotBefore], and leases. So a
// queue waits at most its delay, and a lease
// lasts at most its length, however far ahead the clock was. Times that callers set (due times,
// blocks) do not change, nor does the due time of a URL that was added without one.
//
// # Failure
//
// If a step returns an error other than the documented ones, acknowledged steps stay, and
// this step is stored completely or not at all. If the disk fails, every later call, reads too, returns
// [ErrFailed] until the store is opened again.
package store

import (
	"context"
	"iter"
	"time"

	"github.com/firstseen/firstseen/hashkey"
)

// Key is the identity of a URL inside a crawl: the first 16 bytes of the
// SHA-256 of its canonical form.
type Key = hashkey.UrlShortHash

// DefaultCrawl is the crawl meant by an empty crawl name.
const DefaultCrawl = "DEFAULT"

// Store is a durable seen-set with queues. All methods are safe for concurrent use. The name of a crawl
// is a string of at most 255 bytes; "" is [DefaultCrawl]. A crawl is created with its first key or
// setting. Where a method documents it, the name "*" means all crawls. If an argument is invalid, the
// method stores nothing and returns [ErrInvalid].
//
// If a context ends before a step was accepted, the step returns the error of the context, and nothing is
// stored. Once accepted, the step is carried out and returns its result, even if the context
// ends.
//
// # The states of a URL
//
// A store keeps the key of every URL. It keeps the text and the queue of a URL only while the URL is
// held (queued or leased). A store that keeps texts also keeps them for completed and dropped
// URLs. Any other store keeps only the keys of those, and cannot distinguish them from keys that
// were never queued.
//
//	state      the store has              Lookup           in Entries
//	unknown    nothing                    not Known        no
//	seen       the key                    SeenOnly         no
//	held       its key, queue and text    Queued, Leased   yes
//	ended      its key, queue and text    Done, Dropped    yes
//
// The result of each step, by the state of the URL:
//
//	step             unknown   seen               held       ended
//	Add              New       Duplicate          Duplicate  Duplicate
//	Add, Force       New       queued             Duplicate  queued
//	Add, EndedBefore New       Duplicate          Duplicate  queued, if it ended before
//	Complete         Unknown   Settled, as it is  Settled    Settled: Done (+)
//	Requeue          Unknown   Unknown            Settled    Settled: queued
//	Drop             Unknown   Unknown            Settled    Unknown
//	Extend           Unknown   Unknown            Settled    Unknown
//	Complete, Create Created   Settled: Done (*)  Settled    Settled: Done
//	Requeue, Create  Created   Settled: queued    Settled    Settled: queued
//	Drop, Create     Created   Settled: Dropped(*) Settled   Unknown
//
// (*) in a store that keeps texts; any other store leaves the key, the counts and the settings of
// its queue as they are.
//
// (+) A URL that is Done already stays as it is, with all its fields but [Settlement.Ended]. Only the
// [Settlement.QueueChange] is applied.
//
// # Rounds and tokens
//
// A round is one attempt to finish a URL. It begins when the URL is recorded or forced, when a settlement begins one
// ([Settlement.NewRound]), and when an ended URL changes its state. The store keeps the 16 latest tokens of a round
// with the text of the URL. A token is one of three:
//
//	current     of the URL's lease; accepted even after the lease ran out
//	earlier     of another lease of the round; accepted with [Settlement.Late]
//	overtaken   of a lease that an earlier one overtook, until it is settled or ends
//
// Any other token is Stale: one from an earlier round, of another URL, or never issued. So are an earlier token
// without Late, and Extend of a queued URL. An accepted earlier token settles a held or Dropped URL as the current one would;
// for a URL that is Done it is AlreadyDone. A store without the texts of ended URLs does not know their tokens, which are Stale.
//
// A lease is overtaken if an earlier token of its round completes or requeues the URL while it runs. It no longer holds the
// URL, but still counts as in flight and towards MaxInFlight, since its fetcher is at the host; and a settlement that
// queues the URL makes it due no earlier than the end of that lease. Any settlement of an overtaken lease is AlreadyDone
// and, except for Extend, ends it; a URL that waited only for that is then due. The lease ends silently, and its token
// is Stale, when its time is over, when its key is forced, forgotten or settled with token 0, and when another lease of
// the key is overtaken.
//
// # Counts and limits
//
// Completed and Dropped, in [Stats] and [QueueInfo], count URLs that became Done or Dropped, or would
// have if the store kept texts. The count decreases if a Done or Dropped URL whose text is kept changes its
// state, or is forgotten by its key. A store without texts cannot decrease it: a URL that is forced and
// completed again counts twice. Fetched and Failed count settlements that say so and change a URL; they do not decrease.
// Forgetting by age does not change the counts. Forgetting a queue sets the counts of the queue to 0. They are never negative, and
// those of a crawl are the sums of those of its queues.
//
// The limit of a queue or crawl is on fetched pages. Each leased URL reserves one, even after its lease ran out, until it is
// leased again or settled. No take makes Fetched plus the leased URLs exceed a limit. A settlement with a token other than
// the current one may, since that page was fetched; so may lowering the limit. Then only as many expired leases are handed
// out again as there is room for.
type Store interface {
	// See records keys without queueing anything, and sets fresh[i] to whether
	// keys[i] was new; of equal keys in the batch the first is new. The
	// slices have equal length. All of the batch is durable when it returns. The error is
	// [DamagedKeys] if only some keys could not be looked up, and [ErrIdentity] before Prepare: no program would
	// accept a store that has keys but no identity.
	See(ctx context.Context, crawl string, keys []Key, fresh []bool, opt SeeOptions) error

	// Add records and queues items, and returns a verdict for each, in order.
	// Each item is recorded and queued, or neither. If the call fails, memstore has
	// recorded nothing; pebblestore may have recorded the first items of a batch of more
	// than about 2,000, redisstore some of any.
	Add(ctx context.Context, crawl string, items []Item, opt AddOptions) ([]Verdict, error)

	// Take leases due URLs, from queues that may be served, each queue at most once a call, and starts
	// the politeness delay of each of these queues. Of a queue it leases first the URLs whose leases
	// expired, earliest first, with a new token, and then the due ones, by [Item.Priority]. The
	// leases of a queue are together in the answer.
	//
	// The queues of a crawl take turns, by weight. A queue that may be served and has a due URL of priority [Urgent]
	// goes first, and keeps its turn; but of two queues served in a row (on redisstore: by one shard) at
	// most one goes first, so all others wait at most twice as long for their turns.
	Take(ctx context.Context, req TakeRequest) (Taken, error)

	// Settle ends leases and reschedules or completes URLs. The results are in
	// order of the settlements. Each is carried out or not; if the call fails, memstore
	// has carried out none, pebblestore may have carried out the first of more than about 2,000,
	// redisstore those of some shards.
	Settle(ctx context.Context, crawl string, s []Settlement) ([]SettleStatus, error)

	// Configure changes the settings of one queue, of a crawl (queue "") or,
	// with crawl "*" and queue "", of the whole store. A queue that holds
	// nothing keeps its settings. Delay, MaxInFlight, QueueLimit and Weight of a
	// crawl, and after these the store's, are defaults for queues without their
	// own, and come before those of a request; a pause or block of a crawl or
	// the store stops all its queues. Limit is for a queue, or for a whole crawl: both hold.
	Configure(ctx context.Context, crawl, queue string, c QueueChange) error
	// CrawlSettings returns the settings of a crawl, or with crawl "*" of the store; zero for an unknown
	// crawl.
	CrawlSettings(ctx context.Context, crawl string) (CrawlSettings, error)

	// Forget removes what the selection names and returns how many keys it
	// removed. A forgotten key is new again; a lease on it ends.
	Forget(ctx context.Context, sel Selection) (int64, error)

	// Lookup returns what the store has of keys, an entry for each, in order: see [Entry.Known]. The error is
	// [DamagedKeys] if only some keys could not be looked up; the others have their entries.
	Lookup(ctx context.Context, crawl string, keys []Key) ([]Entry, error)

	// QueueInfo returns the state of one queue, or [ErrNotFound] when the queue
	// holds nothing, has counted nothing and has neither settings nor a NotBefore.
	QueueInfo(ctx context.Context, crawl, queue string) (QueueInfo, error)

	// Stats returns exact counts: of one crawl, or of all of them with crawl
	// "*". Its cost does not grow with the number of keys, URLs or queues. An
	// unknown crawl has zero counts.
	Stats(ctx context.Context, crawl string) (Stats, error)

	// Crawls lists the crawls in order of name.
	Crawls(ctx context.Context) ([]string, error)

	// NameCrawls maps the names of crawls that users know to those under which the store keeps
	// them. For names[i] the first proposal stored[i] of any caller wins, durably and permanently.
	// stored[i] is overwritten with the winner, or "" if there was no proposal. A name has at
	// most 249 bytes, a proposal 255. NameCrawls creates no crawl. A store that only one process can open
	// may drop the mapping when it is closed.
	NameCrawls(ctx context.Context, names, stored []string) error

	// Queues lists the queues that QueueInfo knows, in a crawl ("*" for all,
	// with after ""), in order of crawl and name, beginning after the queue
	// named after ("" for the first). It ends with the first error. A listing
	// shows every row that does not change while it runs. A row that changes may
	// be shown as it was, as it is, as both, or not at all. Other methods may be called while
	// this or another listing runs, also by the loop over it.
	Queues(ctx context.Context, crawl, after string) iter.Seq2[QueueInfo, error]

	// Entries lists the URLs of a crawl whose text is kept, of one queue or,
	// with queue "", of all queues in order of name: first the completed and
	// dropped ones by key, then the leased ones by the end of their lease, then
	// the queued ones by priority, due time and arrival. It ends with the first
	// error.
	Entries(ctx context.Context, crawl, queue string) iter.Seq2[Entry, error]

	// Keys lists the keys seen in a crawl in ascending order. It ends with the
	// first error.
	Keys(ctx context.Context, crawl string) iter.Seq2[Key, error]

	// Identity returns how the keys of this store are made. It is zero for a new store
	// until Prepare.
	Identity() Identity

	// Prepare makes the store ready for a user. Each user calls it once, before all other methods. If
	// the store has no identity, it durably adopts the one in the terms. Otherwise the result is that of
	// [Identity.Adopt]. The error is [ErrIdentity] if the user makes keys in another way, or if the
	// store has keys but no identity.
	Prepare(ctx context.Context, t Terms) error

	// Close waits for accepted steps and releases the store. Later calls, also of Close,
	// return [ErrClosed].
	Close() error
}

// SeeOptions modify See. The zero value is fine.
type SeeOptions struct {
	// UnicodeHosts means that some of the keys are of URLs with an internationalised host, whose
	// key depends on the Unicode version. The
	// default is false.
	UnicodeHosts bool
}

// Stats are exact counts of a crawl or of a store. The comment of [Store] defines Completed,
// Dropped, Fetched and Failed.
type Stats struct {
	Seen      int64 // keys seen and not forgotten
	Held      int64 // URLs queued or leased; one whose lease ran out is still held
	InFlight  int64 // leases that have not run out at the time of the call
	Completed int64 // URLs completed
	Dropped   int64 // URLs dropped
	Fetched   int64 // pages fetched
	Failed    int64 // URLs dropped after a failure
	Queues    int64 // queues that hold something, or have counted something
	Active    int64 // queues that hold something
	Marked    int64 // keys with a mark: see [Settlement.Mark]
}

// Add adds other counts.
func (s *Stats) Add(o Stats) {
	s.Seen += o.Seen
	s.Held += o.Held
	s.InFlight += o.InFlight
	s.Completed += o.Completed
	s.Dropped += o.Dropped
	s.Fetched += o.Fetched
	s.Failed += o.Failed
	s.Queues += o.Queues
	s.Active += o.Active
	s.Marked += o.Marked
}

// Clock returns the time. A store has one so that tests can step it.
type Clock func() time.Time
