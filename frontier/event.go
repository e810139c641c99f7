package frontier

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
)

// EventKind is what happened to a URL.
type EventKind uint8

// The kinds of an Event.
const (
	EventAdded      EventKind = iota + 1 // queued as new, or queued again by Force
	EventDuplicate                       // offered, but seen before
	EventRefused                         // offered, but refused for Reason
	EventLeased                          // handed out
	EventDone                            // completed
	EventRetried                         // put back after a failure
	EventRecrawl                         // put back for another time, after success
	EventDropped                         // given up
	EventReleased                        // put back, not fetched
	EventRedirected                      // to be followed under the same lease
)

var eventNames = [...]string{"", "added", "duplicate", "refused", "leased", "done", "retried", "recrawl", "dropped", "released", "redirected"}

// String returns the kind in lower case: "added".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// Event is what happened to a URL, for metrics and logs.
type Event struct {
	Kind      EventKind
	Crawl     string
	Queue     string
	URL       string    // as found, or as fetched
	Canonical string    // for offered URLs that have one
	Key       store.Key // zero for URLs without a canonical form
	Reason    Reason    // of EventRefused; of EventDropped unless a settlement asked for it
	// Took is the time from Lease.Started to the settlement, for settlements of leases.
	Took time.Duration
}

// emit calls the hook, if there is one.
func (f *Frontier) emit(e Event) {
	if f.opt.OnEvent != nil {
		f.opt.OnEvent(e)
	}
}

const (
	// maxExamples bounds the refused URLs kept for each reason.
	maxExamples = 10
	// maxRefusals bounds the counts kept apart.
	maxRefusals = 1024
)

// Refusal counts the URLs of a crawl that were refused when they were offered, or that
// the frontier dropped later, for one reason, with the latest few of them.
type Refusal struct {
	Crawl    string // "" for invalid names, and for all further crawls and reasons after the first 1,024 counts
	Reason   Reason
	Dropped  bool // they had been accepted, and were dropped later
	Count    int64
	Examples []string // at most 10, oldest first, each cut to 256 bytes
}

type refusalKey struct {
	crawl   string
	reason  Reason
	dropped bool
}

// refusals counts refusals. Memory is bounded: a crawl is named by any client that offers a
// URL, and a refused one makes no crawl, so names come without end.
type refusals struct {
	mu sync.Mutex
	m  map[refusalKey]*Refusal
}

func (r *refusals) add(crawl string, reason Reason, url string) {
	r.count(refusalKey{crawl, reason, false}, url)
}

func (r *refusals) addDropped(crawl string, reason Reason, url string) {
	r.count(refusalKey{crawl, reason, true}, url)
}

func (r *refusals) count(k refusalKey, url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(k)
	c.Count++
	if len(c.Examples) == maxExamples {
		c.Examples = append(c.Examples[:0], c.Examples[1:]...)
	}
	c.Examples = append(c.Examples, strings.Clone(url[:min(len(url), 256)])) // not the message it came in
}

// of returns the count to add to.
func (r *refusals) of(k refusalKey) *Refusal {
	if r.m[k] == nil && len(r.m) >= maxRefusals {
		k.crawl = ""
	}
	c := r.m[k]
	if c == nil {
		if r.m == nil {
			r.m = make(map[refusalKey]*Refusal)
		}
		k.crawl = strings.Clone(k.crawl)
		c = &Refusal{Crawl: k.crawl, Reason: k.reason, Dropped: k.dropped}
		r.m[k] = c
	}
	return c
}

// list copies the counts, in order of crawl and reason, those of dropped URLs last.
func (r *refusals) list() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Refusal, 0, len(r.m))
	for _, c := range r.m {
		one := *c
		one.Examples = slices.Clone(c.Examples)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		order := cmp.Or(cmp.Compare(a.Crawl, b.Crawl), cmp.Compare(a.Reason, b.Reason))
		switch {
		case order != 0 || a.Dropped == b.Dropped:
			return order
		case a.Dropped:
			return 1
		}
		return -1
	})
	return all
}

// Refusals lists the URLs refused since New, by crawl and reason. The counts
// are of this process, not of the store.
func (f *Frontier) Refusals() iter.Seq[Refusal] { return slices.Values(f.refused.list()) }
