package frontier

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// Options configure a Frontier. The zero value works: canonical dedup, one fetch per
// host and second, and the traps on.
//
// What is durable belongs to the store: settings of single queues and crawls
// ([Frontier.Configure]) outlive the process. Options are the policy of this
// process, and may differ at the next New, except Profile.
type Options struct {
	// Crawl is the crawl that this frontier works on: only its URLs are handed out, and it is
	// the default of Link.Crawl, LeaseRequest.Crawl, and the crawl of Lookup, Stats and other
	// methods. With "*", URLs of all crawls are handed out, and those defaults are
	// store.DefaultCrawl. The default is store.DefaultCrawl.
	Crawl string
	// Profile makes canonical forms. Add rule files with canon.WithRuleFile. The
	// default is canon.Qiita().
	Profile *canon.Profile
	// QueueBy returns the queue key of a URL that came without one. The default
	// is ByHost.
	QueueBy QueueFunc

	// Delay is the least time from one hand-out of a queue to the next, for
	// queues without a delay of their own; negative is none. The default is 1 s.
	Delay time.Duration
	// Adaptive lengthens the delay with the time a fetch took. The default is off.
	Adaptive Adaptive
	// MaxInFlight bounds the leases of one queue at any time, for queues
	// without a bound of their own; negative is none. The default is 1.
	MaxInFlight int
	// Lease is how long a URL is held for its fetcher: longer than the slowest
	// fetch. The default is 2 min.
	Lease time.Duration
	// MaxExpired is how many leases of a URL may expire before the URL is dropped with
	// [ReasonExpired]: it protects fetchers from a poison URL. Retry and Release do not count;
	// Recrawl and Force reset the count. Negative is no bound.
	// LeaseRequest.MaxExpired overrides it. The default is 10.
	MaxExpired int
	// Retry is the back-off of [Frontier.Retry]. The default is that of Backoff.
	Retry Backoff

	// MaxPerQueue caps the URLs one queue may hold; more are refused as
	// [ReasonFull]. The default is no cap.
	MaxPerQueue int64
	// MaxHeld caps the URLs one crawl may hold, in the same way. The default is no cap.
	MaxHeld int64
	// MaxDepth refuses URLs further than this from a seed ([Link.Depth]). The
	// default is no limit.
	MaxDepth int
	// Traps are limits on URLs that crawler traps are made of. The default is
	// that of Traps: all on.
	Traps Traps
	// Exclude reports which URLs never to fetch, by their canonical form. It is asked when a URL is
	// offered or put, which is then refused, and again before one is handed out, which is then dropped, as
	// [ReasonExcluded]; so its answers may change. It must be safe for concurrent use. The
	// default is to exclude nothing.
	Exclude Excluder

	// OnFetched is called with what settlements report of fetches, on the goroutine that
	// settles, concurrently; store/captures keeps a sample of them for audits of the rules. It
	// must be quick. The default is none.
	OnFetched func(Fetched)
	// Probe is the share of variants among duplicates, 0 to 1, that are queued nevertheless, each
	// once. Without them a rule that is on is never tested, since URLs that it merges are
	// fetched as one variant only. The default is 0.
	Probe float64

	// SeenFor is the age after which a URL that is neither queued nor leased counts as new. A
	// sweep forgets such URLs, in New and then every eighth of SeenFor, or every hour if that
	// is shorter. A store on disk deletes keys in groups that were recorded within an eighth of
	// SeenFor, so a URL is remembered for up to 1.25 times SeenFor. After a jump of the clock
	// nothing is forgotten for an hour, see [store.Selection]. The default, 0, is no expiry.
	SeenFor time.Duration
	// OnDropped is called with URLs that the frontier dropped by itself, as [ReasonExpired] or
	// [ReasonExcluded], after that is durable, on the goroutine that dropped them, concurrently. It must
	// be quick, and must not keep the slice. The default is none.
	OnDropped func([]Event)
	// Logger receives what no call can return: why a sweep of SeenFor did not forget
	// anything. The default is slog.Default.
	Logger *slog.Logger
	// OnEvent is called for each event after it is durable, on the goroutine
	// that caused it, concurrently. It must be quick. The default is none.
	OnEvent func(Event)

	tuning
}

// tuning is what only tests change.
type tuning struct {
	maxRedirects int // the longest chain of redirects that is followed
}

// maxRedirects is as many redirects as net/http's client follows.
const maxRedirects = 10

// Excluder reports which URLs never to fetch, given canonical forms.
type Excluder interface {
	Excluded(canonical string) bool
}

// Adaptive makes the queue of a slow server wait longer: after a fetch that took t, it is served
// again after Factor times t at the earliest. A fetch begins at [Lease.Started] and ends when it is
// settled.
type Adaptive struct {
	// Factor is how many times the fetch time to wait. The default is 0: off.
	Factor float64
	// Max bounds the wait. The default is 30 s.
	Max time.Duration
}

// Backoff spaces the attempts at one URL: Base, twice Base, four times Base,
// and so on up to Max.
type Backoff struct {
	// Base is the wait after the first failure. The default is 30 s.
	Base time.Duration
	// Max bounds the wait. The default is 1 h.
	Max time.Duration
	// Attempts is how often a URL is leased in all before Retry drops it;
	// negative is without end. The default is 5.
	Attempts int
}

func (o Options) withDefaults() Options {
	if o.Profile == nil {
		o.Profile = canon.Qiita()
	}
	if o.QueueBy == nil {
		o.QueueBy = ByHost
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Crawl = cmp.Or(o.Crawl, store.DefaultCrawl)
	o.Delay = orOff(o.Delay, time.Second)
	o.MaxInFlight = orOff(o.MaxInFlight, 1)
	o.maxRedirects = cmp.Or(o.maxRedirects, maxRedirects)
	o.MaxExpired = orOff(o.MaxExpired, 10)
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.Adaptive.Max = cmp.Or(o.Adaptive.Max, 30*time.Second)
	o.Retry.Base = cmp.Or(o.Retry.Base, 30*time.Second)
	o.Retry.Max = cmp.Or(o.Retry.Max, time.Hour)
	o.Retry.Attempts = cmp.Or(o.Retry.Attempts, 5)
	o.Traps = o.Traps.withDefaults()
	return o
}

func (o Options) validate() error {
	for _, field := range []struct {
		name  string
		value int64
		is    any
	}{
		{"Lease", int64(o.Lease), o.Lease}, {"SeenFor", int64(o.SeenFor), o.SeenFor}, {"Retry.Base", int64(o.Retry.Base), o.Retry.Base},
		{"Retry.Max", int64(o.Retry.Max), o.Retry.Max}, {"Adaptive.Max", int64(o.Adaptive.Max), o.Adaptive.Max},
		{"MaxPerQueue", o.MaxPerQueue, o.MaxPerQueue}, {"MaxHeld", o.MaxHeld, o.MaxHeld}, {"MaxDepth", int64(o.MaxDepth), o.MaxDepth},
	} {
		if field.value < 0 {
			return fmt.Errorf("cannot make frontier; got %s %v; want none below 0", field.name, field.is)
		}
	}
	if !(o.Probe >= 0 && o.Probe <= 1) {
		return fmt.Errorf("cannot make frontier; got Probe %v; want 0 to 1", o.Probe)
	}
	if o.Adaptive.Factor < 0 {
		return fmt.Errorf("cannot make frontier; got Adaptive.Factor %v; want none below 0", o.Adaptive.Factor)
	}
	return nil
}

// wait is the back-off after the given number of attempts.
func (b Backoff) wait(attempts int) time.Duration {
	d := b.Base
	for ; attempts > 1 && d < b.Max; attempts-- {
		d *= 2
	}
	return min(d, b.Max)
}

func (b Backoff) exhausted(attempts int) bool { return b.Attempts > 0 && attempts >= b.Attempts }

// orOff returns v, the default for a zero v, and zero ("off" in a store) for a
// negative v.
func orOff[T int | time.Duration](v, def T) T { return max(cmp.Or(v, def), 0) }
