package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
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
	// Profile makes canonical forms. If its lists were not chosen, they are those that the store records. Rule files (canon.WithRuleFile)
	// become part of the store's identity; with [Frontier.SetProfile], they do not, as those of the commands. The default is canon.Qiita().
	Profile *canon.Profile
	// QueueBy returns the queue key of a URL that came without one. The default
	// is ByHost.
	QueueBy QueueFunc

	// Delay is the least time from one hand-out of a queue to the next, for
	// queues without a delay of their own; negative is none. The default is 1 s.
	Delay time.Duration
	// Adaptive makes a slow server's queue wait longer: from the end of a fetch that took t,
	// Adaptive times t pass before the next hand-out, at most 30 s, unless the delay or another
	// fetch keeps the queue waiting longer. A fetch begins at [Lease.Started] and ends when it is
	// settled. The default is 0: off.
	Adaptive float64
	// MaxInFlight bounds the leases of one queue at any time, for queues
	// without a bound of their own; negative is none. Leases of fetchers that died count until
	// they expire. The default is 1.
	MaxInFlight int
	// Lease is how long a URL is held for its fetcher: longer than the slowest
	// fetch. If a fetcher dies, its URL waits as long, and with MaxInFlight 1 so does
	// its queue. The default is 2 min.
	Lease time.Duration
	// RetryAfter is how long [Frontier.Retry] keeps a URL back after its first failure; it is
	// twice as long after the second, and so on up to an hour. Deferrals wait in the same way, by
	// their own count, if the host names no time. The default is 30 s.
	RetryAfter time.Duration

	// The leases of a URL end in four ways that bring no result, each with a count and a bound of
	// its own, after which the URL is dropped. Recrawl and Force begin the counts again.

	// Attempts is the failure ([Frontier.Retry]) that drops a URL, as [ReasonAttempts]; negative is
	// no bound. The default is 5: by default, a host that does not answer for 8 min loses the URLs
	// tried in that time.
	Attempts int
	// MaxDeferred is the deferral ([Defer]) that drops a URL, as [ReasonDeferred]; negative is no
	// bound. The default is 100: some four days of a host that answers 503.
	MaxDeferred int
	// MaxReleased is the release that drops a URL, as [ReasonReleased]. The default is no bound.
	MaxReleased int
	// MaxExpired is how many leases of a URL may expire before the URL is dropped with
	// [ReasonExpired]: it protects fetchers from a poison URL. Negative is no bound.
	// LeaseRequest.MaxExpired overrides it. The default is 10.
	MaxExpired int

	// RecrawlLatest lets pages that change often be fetched more often than others: a [Recrawl] without a time is due after a quarter of the
	// time since the page was fetched before, if it has changed, and after a quarter more than that time if Fetched.Status is 304, Not Modified; at the latest after
	// RecrawlLatest. So about every seventh fetch finds a change; with half and double, every second would, and most changes be noticed late.
	// A fetcher that compares pages by itself, by a digest in Meta say, reports 304 as well. A result without a status keeps the pace.
	// The first fetch has nothing to be compared with: the page is due again after the geometric mean of the bounds. The default is 0: such a Recrawl is due at once.
	RecrawlLatest time.Duration
	// RecrawlSoonest is the least such time. The default is an hour.
	RecrawlSoonest time.Duration

	// FailingAfter is after how many failed fetches in a row (a Retry, a 5xx), each of another URL than the one before, a queue waits as a whole: a minute, and twice as
	// long after a further failure of a fetch that began after the wait, up to MaxFailingWait. One success ends that. While most queues fail at once, which is
	// the fetcher's network, none is blamed. Negative is never. The default is 5.
	FailingAfter int
	// MaxFailingWait is the longest such wait. The default is an hour.
	MaxFailingWait time.Duration

	// MaxPerQueue caps the URLs one queue may hold; more are refused as
	// [ReasonFull]. The default is no cap.
	MaxPerQueue int64
	// MaxHeld caps the URLs one crawl may hold, in the same way. The default is no cap.
	MaxHeld int64
	// MaxDepth refuses URLs further than this from a seed ([Link.Depth]). The
	// default is no limit.
	MaxDepth int
	// Traps are limits against crawler traps. The default is the zero Traps: all on.
	Traps Traps
	// NoHeuristics overrides Traps, Lower and Rank: no URL is refused or put back because of its form or because of what other
	// fetches returned. Only the caller's own rules remain. The default is false.
	NoHeuristics bool
	// Exclude reports whether a URL must not be fetched, by its canonical form: it is on another host, or
	// on a list (hasheduri.List.Excluded). A URL that it excludes is refused when it is added, put or the
	// target of a redirect, and forgotten before it is handed out, both as [ReasonExcluded]. So its answers
	// may change while URLs are queued; rules that operators change are [Frontier.Exclude]. It must be safe for concurrent use. The frontier does not read
	// robots.txt: exclude here what robots.txt disallows. The default is to exclude nothing.
	Exclude func(canonical string) bool
	// Lower reports whether to fetch a URL after the others of its queue, by its canonical form. It
	// is called for each URL that is added or the target of a redirect, and, with queued set, for each
	// that is about to be handed out for the first time, as the answer may have changed; never with
	// [Link.SkipTraps]. Such a URL gets priority 0, and every other one at least 1, so a store
	// should be used with it from the start: URLs that were queued with 0 before, or that Put
	// creates with 0, come after the rest. A queued URL goes back once; its queue waits for the
	// delay, as after a fetch. Lower must be quick, and safe for concurrent use. The default is to leave priorities as they are.
	Lower func(canonical string, queued bool) bool
	// Rank returns how much later than others of its queue a URL is to be fetched, 0 to 5, by its canonical form: it gets priority 6 less that,
	// instead of its own. Urgent URLs, and those that Lower lowers, keep theirs; with [Link.SkipTraps] it is 6. Rank is called as Lower is, but with
	// queued only if Delay is negative; then a URL goes back whenever its rank has grown. Otherwise its queue would wait for a delay, in which
	// the URL may as well be fetched. [PagesFirst] has one. The default is to leave priorities as they are.
	Rank func(canonical string) int

	// OnFetched is called with the fetch results that settlements report, before they return and
	// concurrently; store/captures keeps a sample of them for audits of the rules. It must be quick. The
	// default is none.
	OnFetched func(Fetched)

	// ReadOnly is for programs that only read: New then writes nothing, and begins nothing that forgets URLs. The default is false.
	ReadOnly bool

	// SeenFor is the age after which a URL that is neither queued nor leased counts as new, from its last fetch, or from when it was recorded if
	// it was not fetched, or the store is shared. A
	// sweep forgets such URLs, in New and then every eighth of SeenFor, but at least every
	// hour. A store on disk deletes keys in groups that were recorded within an eighth of
	// SeenFor, so a URL is remembered for up to 1.25 times SeenFor. A crawl whose settings have a retention
	// ([store.CrawlSettings.Retention]) forgets after that instead. After a jump of the clock
	// nothing is forgotten for an hour, see [store.Selection]. The default, 0, is no expiry.
	SeenFor time.Duration
	// OnWait is called by loops over [Frontier.Leases] that find nothing to lease for a second or longer, whenever what
	// they wait for is another than before: a paused crawl, a time. It must be quick. The default is none.
	OnWait func(Idle)
	// Logger receives what no call can return: URLs that the frontier dropped by itself as
	// [ReasonExpired], or forgot as [ReasonExcluded], and why a sweep of SeenFor did not forget anything. The
	// default is slog.Default.
	Logger *slog.Logger

	tuning
}

// tuning is what only tests change.
type tuning struct {
	maxRedirects int           // the longest chain of redirects that is followed
	maxBackOff   time.Duration // of RetryAfter
	maxAdaptive  time.Duration // of Adaptive
}

// maxRedirects is as many redirects as net/http's client follows.
const maxRedirects = 10

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
	o.maxAdaptive = cmp.Or(o.maxAdaptive, 30*time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 30*time.Second)
	o.maxBackOff = cmp.Or(o.maxBackOff, time.Hour)
	o.RecrawlSoonest = cmp.Or(o.RecrawlSoonest, time.Hour)
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.MaxDeferred = cmp.Or(o.MaxDeferred, 100)
	o.FailingAfter = cmp.Or(o.FailingAfter, 5)
	o.MaxFailingWait = cmp.Or(o.MaxFailingWait, time.Hour)
	if o.NoHeuristics {
		o.Traps.Off, o.Lower, o.Rank = true, nil, nil
	}
	o.Traps = o.Traps.withDefaults()
	return o
}

func (o Options) validate() error {
	for _, field := range []struct {
		name  string
		value int64
		is    any
	}{
		{"Lease", int64(o.Lease), o.Lease}, {"SeenFor", int64(o.SeenFor), o.SeenFor}, {"RetryAfter", int64(o.RetryAfter), o.RetryAfter},
		{"RecrawlSoonest", int64(o.RecrawlSoonest), o.RecrawlSoonest}, {"RecrawlLatest", int64(o.RecrawlLatest), o.RecrawlLatest},
		{"MaxPerQueue", o.MaxPerQueue, o.MaxPerQueue}, {"MaxHeld", o.MaxHeld, o.MaxHeld}, {"MaxDepth", int64(o.MaxDepth), o.MaxDepth},
	} {
		if field.value < 0 {
			return fmt.Errorf("cannot make frontier; got %s %v; want none below 0", field.name, field.is)
		}
	}
	if o.Profile != nil && o.Profile.Name() == "" {
		return errors.New("cannot make frontier; got an empty Profile; want one of package canon, such as canon.Qiita()")
	}
	if !(o.Adaptive >= 0) {
		return fmt.Errorf("cannot make frontier; got Adaptive %v; want 0 or more", o.Adaptive)
	}
	return nil
}

// backOff is the wait after the given number of failures or deferrals.
func (o *Options) backOff(count int) time.Duration {
	d := o.RetryAfter
	for ; count > 1 && d < o.maxBackOff; count-- {
		d *= 2
	}
	return min(d, o.maxBackOff)
}

// recrawlAfter is how long after now a page is due again that was fetched now and, if last is not 0, then, in ms since 1970.
func (o *Options) recrawlAfter(last int64, is *Fetched, now time.Time) (d time.Duration) {
	if last == 0 {
		d = time.Duration(math.Sqrt(float64(o.RecrawlSoonest) * float64(o.RecrawlLatest)))
	} else {
		d = min(now.Sub(time.UnixMilli(last)), o.RecrawlLatest)
		if is != nil && is.Status == http.StatusNotModified {
			d += d / 4
		} else if is != nil && is.Status != 0 {
			d /= 4
		}
	}
	return min(max(d, o.RecrawlSoonest), o.RecrawlLatest)
}

// orOff returns v, the default for a zero v, and zero ("off" in a store) for a
// negative v.
func orOff[T int | time.Duration](v, def T) T { return max(cmp.Or(v, def), 0) }
