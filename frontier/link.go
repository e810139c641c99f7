package frontier

import (
	"math"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Link is a URL offered to a frontier. Only URL must be set.
type Link struct {
	// URL is the text as found. It is handed to the fetcher unchanged.
	URL string
	// Crawl names a crawl: each has its own seen URLs and queues. The default
	// is that of [Options.Crawl].
	Crawl string
	// Queue is the queue key, 1 to 255 bytes. The default is what
	// [Options.QueueBy] says.
	Queue string
	// Group names the server of the queue: its address, or any name of at most 255 bytes. Queues of one group share the delay
	// and the bound on leases, and take turns: see [store.QueueSettings]. The first offer of a queue that names one holds. The
	// default is none. On a redisstore that was made without groups the URL is refused.
	Group string
	// Meta is the caller's own data, at most MaxMeta bytes, kept with the URL while it is held. The
	// default is none.
	Meta []byte
	// Due is when the URL may first be fetched. The default is immediately.
	Due time.Time
	// Priority orders the due URLs of a queue, higher first: 0 to 7 (store.MaxPriority), which is urgent: such URLs also go
	// before those of other queues, as [store.Store.Take] says. With a
	// larger value nothing is done, and the error is store.ErrInvalid. The default is 0.
	Priority uint8
	// Depth is the number of links from a seed, below 2³¹. The default is 0, a seed.
	Depth int
	// Discriminator is mixed into the key, so that one URL can stand for
	// several things to fetch: a method, a digest of a body, a language. It has at most MaxMeta bytes. The
	// default is none.
	Discriminator string
	// Force queues the URL although it was seen. If it is queued for later, it becomes due now, or at this
	// link's Due; a leased URL stays as it is. The default is false.
	Force bool
	// UnlessFetchedAfter queues a seen URL again unless it was fetched or dropped at this time or later. A URL that was done or dropped
	// before is queued again by exactly one of any number of such offers; a recrawl that was scheduled before becomes due now. Other URLs
	// stay as they are, as do URLs whose text the store lacks because they were only recorded. A store that keeps no texts of ended URLs
	// can't tell when they were fetched: such a URL is refused with [ReasonNoTexts]. Each duplicate costs a look-up. The default is to
	// leave seen URLs alone.
	UnlessFetchedAfter time.Time
	// Raise gives a URL that is already queued the higher of the two priorities and, with
	// [Options.MaxDepth], the smaller of the two depths. Other duplicates change neither.
	// Each duplicate costs a look-up. The default is false.
	Raise bool
	// SkipTraps exempts the URL from [Options.Traps], Lower and Rank. Use it for URLs from a person or a
	// sitemap. The default is false.
	SkipTraps bool
	// SkipFirst leaves Result.First empty. If all links of a batch set it, duplicates cost no
	// look-up of their first-seen URL, and a client of a daemon also leaves Canonical and Queue
	// empty. The default is false.
	SkipFirst bool
}

// MaxMeta bounds the metadata of a URL, and a discriminator, in bytes. A daemon takes less.
const MaxMeta = 1 << 20

// Check returns store.ErrInvalid if the priority or depth is out of range, or the metadata or discriminator too long.
func (u *Link) Check() error {
	if n := len(u.Meta); n > MaxMeta {
		return fault.As(store.ErrInvalid, "cannot take %.200q: got %d bytes of metadata; want at most %d", u.URL, n, MaxMeta)
	}
	if n := len(u.Discriminator); n > MaxMeta {
		return fault.As(store.ErrInvalid, "cannot take %.200q: got a discriminator of %d bytes; want at most %d", u.URL, n, MaxMeta)
	}
	if u.Priority > store.MaxPriority {
		return fault.As(store.ErrInvalid, "cannot take %q: got priority %d; want 0 to %d", u.URL, u.Priority, store.MaxPriority)
	}
	if u.Depth < 0 || u.Depth > math.MaxInt32 {
		return fault.As(store.ErrInvalid, "cannot take %q: got depth %d; want 0 to %d", u.URL, u.Depth, math.MaxInt32)
	}
	return nil
}

// Links makes links of the URLs found on the page of a lease, one of each, in order: of its crawl, one
// level deeper. References are resolved against the URL of the lease, as browsers do ([canon.Base]); absolute URLs stay as found.
func Links(from *Lease, found ...string) []Link {
	if from == nil {
		from = &Lease{}
	}
	base, err := canon.ParseBase(from.URL)
	links := make([]Link, len(found))
	for i, ref := range found {
		if links[i] = (Link{URL: ref, Crawl: from.Crawl, Depth: from.Depth + 1}); err == nil {
			links[i].URL = base.Resolve(ref)
		}
	}
	return links
}

// Status is the answer for one offered URL.
type Status uint8

// The statuses of a Result.
const (
	// StatusNew means that the URL was never seen and is now queued: no other caller got
	// or will get this answer.
	StatusNew Status = iota + 1
	// StatusDuplicate means that the URL was seen before.
	StatusDuplicate
	// StatusRefused means that the URL was not recorded, for the Reason given.
	StatusRefused
)

// String returns "new", "duplicate" or "refused".
func (s Status) String() string {
	switch s {
	case StatusNew:
		return "new"
	case StatusDuplicate:
		return "duplicate"
	case StatusRefused:
		return "refused"
	}
	return "unknown"
}

// Reason says in a short stable word why a URL was refused.
type Reason string

// The reasons of a refusal.
const (
	ReasonURL       Reason = "url"                // no URL: see Result.Err
	ReasonScheme    Reason = "scheme"             // a scheme the profile doesn't take
	ReasonTooLong   Reason = "too-long"           // longer than Traps.URLLength or the profile takes
	ReasonCrawl     Reason = "crawl"              // no name for a crawl
	ReasonQueue     Reason = "queue"              // no queue key, or one too long
	ReasonGroup     Reason = "group"              // a group that is too long, or on a store without groups: see Result.Err
	ReasonExcluded  Reason = "excluded"           // by a rule (Frontier.Exclude) or Options.Exclude
	ReasonDepth     Reason = "depth"              // further from a seed than Options.MaxDepth
	ReasonPathDepth Reason = "path-depth"         // Traps.PathDepth
	ReasonRepeats   Reason = "repeated-segments"  // Traps.Repeats
	ReasonQueries   Reason = "query-growth"       // Traps.Queries
	ReasonFull      Reason = "full"               // Options.MaxPerQueue or MaxHeld
	ReasonNoTexts   Reason = "no-texts"           // Link.UnlessFetchedAfter, in a store that keeps no texts: see Result.Err
	ReasonDamaged   Reason = "damaged"            // the record of whether it was seen, or of a queued URL, is damaged: restore a backup
	ReasonRedirects Reason = "too-many-redirects" // more than 10 in a row
	ReasonOperator  Reason = "operator"           // Frontier.Change: dropped, not refused
	ReasonExpired   Reason = "expired-leases"     // Options.MaxExpired: dropped, not refused
	ReasonAttempts  Reason = "attempts"           // Options.Attempts: dropped, not refused, as are the next two
	ReasonDeferred  Reason = "deferred"           // Options.MaxDeferred
	ReasonReleased  Reason = "released"           // Options.MaxReleased
)

// DropReasons are the reasons for which the frontier drops URLs ([Entry.Reason]).
func DropReasons() []Reason {
	return []Reason{ReasonAttempts, ReasonDeferred, ReasonReleased, ReasonExpired, ReasonRedirects, ReasonOperator, ReasonDamaged}
}

// Result is the answer for one offered URL.
type Result struct {
	Status Status
	// Requeued is set if a URL, seen before, was queued again: by Force, by UnlessFetchedAfter, as the target of
	// [Known.Redirect], or as another spelling of a page that was not found.
	Requeued bool
	// Raised is set if a queued URL took over the priority, depth or due time of this offer, by Raise, Force or UnlessFetchedAfter.
	Raised bool
	// Resent is set if the URL was sent before and the answer got lost, so that
	// a Duplicate may be this caller's own. Only package client sets it.
	Resent bool
	// Reason says why it was refused.
	Reason Reason
	// Err has the details of a refusal for ReasonURL, ReasonScheme, ReasonTooLong, ReasonGroup and ReasonNoTexts.
	Err error
	// Canonical is the form it was compared by; "" if it has none.
	Canonical string
	// Key is its identity in the crawl; zero if it has no canonical form or no queue.
	Key store.Key
	// Queue is its queue key.
	Queue string
	// First is the URL that was first seen, of a duplicate, unless Link.SkipFirst is set. A store keeps it
	// until it is completed or dropped, and permanently with its option KeepURLs.
	// [Frontier.Profile] compares it with the URL that was offered.
	First string
	// SeenIn names the key file that a duplicate was found in, if the store was opened with
	// such files.
	SeenIn string
}
