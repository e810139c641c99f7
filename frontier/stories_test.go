package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// TestStories plays what docs/LIFE.md and docs/STEER.md promise where two settings or events meet.
func TestStories(t *testing.T) {
	for name, tell := range stories {
		for _, kind := range []string{"memory", "disk"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fs := vfs.NewMem()
					var s store.Store = memstore.New(memstore.Options{KeepURLs: true})
					p := &play{T: t}
					p.open = func(opt Options) (f *Frontier) {
						if p.f != nil {
							must(t, p.f.Close())
						}
						var err error
						if kind == "disk" {
							if p.f != nil {
								must(t, s.Close())
							}
							s, err = pebblestore.Open("db", pebblestore.Options{FS: fs, KeepURLs: true, Logger: slog.New(slog.DiscardHandler)})
							must(t, err)
						}
						f, err = New(s, opt)
						must(t, err)
						return f
					}
					defer func() { must(t, errors.Join(p.f.Close(), s.Close())) }()
					tell(p)
				})
			})
		}
	}
}

// play is a story as it is told.
type play struct {
	*testing.T
	open func(Options) *Frontier
	f    *Frontier
	opt  Options
}

// begin opens the frontier, again if it is open.
func (p *play) begin(opt Options) {
	p.Helper()
	if opt.Delay == 0 {
		opt.Delay = -1
	}
	opt.MaxInFlight, opt.Logger = cmp.Or(opt.MaxInFlight, -1), slog.New(slog.DiscardHandler)
	opt.Lease = cmp.Or(opt.Lease, 1000*time.Second)
	p.f, p.opt = p.open(opt), opt
}

func (p *play) wait(seconds float64) { time.Sleep(time.Duration(seconds * float64(time.Second))) }

func (p *play) in(seconds float64) time.Time {
	return time.Now().Add(time.Duration(seconds * float64(time.Second)))
}

// lease wants these URLs to be all that can be leased now.
func (p *play) lease(urls ...string) (leases []*Lease) {
	p.Helper()
	return p.leaseOf("", urls...)
}

func (p *play) leaseOf(crawl string, urls ...string) (leases []*Lease) {
	p.Helper()
	var got []string
	for {
		list, _, err := p.f.Lease(bg, LeaseRequest{Crawl: crawl, Max: 1})
		must(p.T, err)
		if len(list) == 0 || len(leases) > len(urls) {
			break
		}
		leases, got = append(leases, list[0]), append(got, list[0].URL)
	}
	if !slices.Equal(got, urls) {
		p.Fatalf("leased %q; want %q", got, urls)
	}
	return leases
}

func (p *play) idle(want store.TakeState) {
	p.Helper()
	list, idle, err := p.f.Lease(bg, LeaseRequest{})
	must(p.T, err)
	if len(list) > 0 || idle.State != want {
		p.Errorf("got %d leases and %v; want %v", len(list), idle, want)
	}
}

func (p *play) settle(want Settled, s Settlement) {
	p.Helper()
	got, err := p.f.Settle(bg, []Settlement{s})
	must(p.T, err)
	if got[0] != want {
		p.Errorf("%v of %s: got %v; want %v", s.Outcome, s.Lease.URL, got[0], want)
	}
}

func (p *play) done(leases ...*Lease) {
	p.Helper()
	for _, l := range leases {
		p.settle(OK, Settlement{Lease: l, Outcome: Done})
	}
}

func (p *play) offer(want string, u Link) {
	p.Helper()
	r := addAll(p.T, p.f, u)[0]
	got := r.Status.String()
	if r.Reason != "" {
		got += " " + string(r.Reason)
	}
	if r.Requeued {
		got += " requeued"
	}
	if r.Raised {
		got += " raised"
	}
	if got != want {
		p.Errorf("offer of %+v: got %s; want %s", u, got, want)
	}
}

func (p *play) add(urls ...string) {
	p.Helper()
	for _, u := range urls {
		p.offer("new", Link{URL: u})
	}
}

// count wants these counts of the crawl.
func (p *play) count(crawl, want string) {
	p.Helper()
	st, err := p.f.Stats(bg, crawl)
	must(p.T, err)
	all := map[string]int64{"seen": st.Seen, "held": st.Held, "flying": st.InFlight, "completed": st.Completed, "dropped": st.Dropped, "fetched": st.Fetched, "failed": st.Failed}
	var got []string
	for _, field := range strings.Fields(want) {
		name, _, _ := strings.Cut(field, "=")
		got = append(got, fmt.Sprintf("%s=%d", name, all[name]))
	}
	if s := strings.Join(got, " "); s != want {
		p.Errorf("got %s; want %s", s, want)
	}
}

func (p *play) set(crawl, queue string, c store.QueueChange) {
	p.Helper()
	must(p.T, p.f.Configure(bg, crawl, queue, c))
}

func (p *play) change(want int64, do Action, q Query) {
	p.Helper()
	if n, _, err := p.f.Change(bg, q, do); err != nil || n != want {
		p.Errorf("%s: got %d, %v; want %d", do, n, err, want)
	}
}

func (p *play) exclude(crawl string, rules ...string) {
	p.Helper()
	_, err := p.f.Exclude(bg, crawl, rules...)
	must(p.T, err)
	must(p.T, p.f.WaitExcluded(bg))
}

func (p *play) include(crawl string, rules ...string) {
	p.Helper()
	_, err := p.f.Include(bg, crawl, rules...)
	must(p.T, err)
}

// entry returns a URL as operators see it: state, reason, and counts that are not 0.
func (p *play) entry(want string, u Link) {
	p.Helper()
	e, err := p.f.Lookup(bg, u)
	got := "unknown"
	if !errors.Is(err, store.ErrNotFound) {
		must(p.T, err)
		got = strings.TrimSpace(fmt.Sprint(e.StateAt(time.Now()), " ", e.Reason))
		for _, c := range []struct {
			name string
			n    int
		}{{"failures", e.Failures}, {"deferrals", e.Deferrals}, {"releases", e.Releases}, {"expiries", e.Expiries}} {
			if c.n > 0 {
				got += fmt.Sprintf(" %s=%d", c.name, c.n)
			}
		}
	}
	if got != want {
		p.Errorf("%s: got %s; want %s", u.URL, got, want)
	}
}

var stories = map[string]func(p *play){
	"limits before what is known": func(p *play) {
		p.begin(Options{MaxDepth: 1, Traps: Traps{PathDepth: 2}})
		a, deep := "http://a.example/", "http://a.example/1/2/3"
		p.add(a)
		p.offer("refused path-depth", Link{URL: deep})
		p.offer("new", Link{URL: deep, SkipTraps: true})
		p.offer("refused path-depth", Link{URL: deep})
		p.offer("refused depth", Link{URL: a, Depth: 2, Raise: true, Priority: 3})
		for _, ask := range []func([]Link) ([]Result, error){
			func(l []Link) ([]Result, error) { return p.f.See(bg, l) }, func(l []Link) ([]Result, error) { return p.f.Peek(bg, l) }} {
			r, err := ask([]Link{{URL: a, Depth: 2}, {URL: a}, {URL: deep}})
			if must(p.T, err); r[0].Reason != ReasonDepth || r[1].Status != StatusDuplicate || r[2].Reason != ReasonPathDepth {
				p.Errorf("got %+v", r)
			}
		}
		p.done(p.lease(a, deep)...)
		p.offer("refused depth", Link{URL: a, Depth: 2, Force: true})
		p.offer("duplicate requeued", Link{URL: a, Depth: 1, Force: true})
		p.exclude("", "a.example")
		p.offer("refused excluded", Link{URL: a, Depth: 2})
		p.offer("refused excluded", Link{URL: deep})
	},
	"pause and limit": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/1", "http://a.example/2", "http://b.example/1")
		p.set("", "a.example", store.QueueChange{Limit: new(int64(1))})
		p.set("", "b.example", store.QueueChange{Paused: new(true)})
		l := p.lease("http://a.example/1")
		p.idle(store.Waiting)
		p.set("", "", store.QueueChange{Paused: new(true)})
		p.idle(store.Paused)
		p.done(l...)
		p.idle(store.Paused)
		p.set("", "", store.QueueChange{Paused: new(false)})
		p.idle(store.Limited)
		for _, err := range p.f.Leases(bg) {
			if !errors.Is(err, ErrLimited) {
				p.Errorf("got %v; want the limit", err)
			}
		}
		p.set("*", "", store.QueueChange{Paused: new(true)})
		p.set("", "a.example", store.QueueChange{Limit: new(int64(2))})
		p.idle(store.Paused)
		p.set("*", "", store.QueueChange{Paused: new(false)})
		p.done(p.lease("http://a.example/2")...)
		p.idle(store.Paused)
	},
	"group, block and delay": func(p *play) {
		p.begin(Options{Delay: 10 * time.Second})
		for _, u := range []string{"http://a.example/1", "http://a.example/2", "http://b.example/1", "http://b.example/2", "http://b.example/3"} {
			p.offer("new", Link{URL: u, Group: "g"})
		}
		p.done(p.lease("http://a.example/1")...)
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(1000))})
		p.wait(10.5)
		p.done(p.lease("http://b.example/1")...)
		p.wait(10.5)
		p.done(p.lease("http://b.example/2")...)
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(-1))})
		p.idle(store.Delayed)
		p.wait(10.5)
		p.done(p.lease("http://a.example/2")...)
		p.set("", "b.example", store.QueueChange{Paused: new(true)})
		p.wait(10.5)
		p.idle(store.Paused)
	},
	"group, directory and limits": func(p *play) {
		p.begin(Options{MaxInFlight: 1})
		p.offer("new", Link{URL: "http://example.org/1", Group: "example.org"})
		p.offer("new", Link{URL: "http://example.org/2", Group: "example.org"})
		for i := range 3 {
			p.offer("new", Link{URL: fmt.Sprint("http://example.org/shop/", i), Queue: "example.org/shop", Group: "example.org"})
		}
		p.set("", "example.org/shop", store.QueueChange{Limit: new(int64(1))})
		p.set("", "", store.QueueChange{QueueLimit: new(int64(2))})
		var got []string
		for l, err := range p.f.Leases(bg) {
			if err != nil {
				if !errors.Is(err, ErrLimited) {
					p.Error(err)
				}
				break
			}
			p.idle(store.Waiting) // one of the group at a time
			got = append(got, l.URL)
			p.done(l)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"http://example.org/1", "http://example.org/2", "http://example.org/shop/0"}) {
			p.Errorf("got %q", got)
		}
		p.set("", "example.org/shop", store.QueueChange{Limit: new(int64(0))}) // then that of the crawl
		p.done(p.lease("http://example.org/shop/1")...)
		p.idle(store.Limited)
	},
	"force and exclusion": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/1", "http://a.example/2")
		p.done(p.lease("http://a.example/1", "http://a.example/2")...)
		p.exclude("", "a.example/1")
		p.exclude("*", "a.example")
		p.offer("refused excluded", Link{URL: "http://a.example/1", Force: true})
		p.offer("refused excluded", Link{URL: "http://a.example/1", UnlessFetchedAfter: p.in(10)})
		p.change(0, ActionRequeue, Query{States: []QueryState{StateDone}})
		p.include("*", "a.example")
		p.change(1, ActionRequeue, Query{States: []QueryState{StateDone}})
		p.lease("http://a.example/2")
		p.include("", "a.example/1")
		p.offer("duplicate requeued", Link{URL: "http://a.example/1", Force: true})
		p.lease("http://a.example/1")
	},
	"exclusion of what is leased": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4")
		l := p.lease("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4")
		p.exclude("", "a.example")
		p.settle(OK, Settlement{Lease: l[0], Outcome: Done})
		p.settle(OK, Settlement{Lease: l[1], Outcome: Retry})
		p.settle(OK, Settlement{Lease: l[2], Outcome: Recrawl, At: p.in(5)})
		p.change(1, ActionFree, Query{})
		p.entry("done", Link{URL: "http://a.example/1"})
		for _, u := range []string{"http://a.example/2", "http://a.example/3", "http://a.example/4"} {
			p.entry("unknown", Link{URL: u})
		}
		p.count("", "seen=1 held=0 fetched=2 failed=0 dropped=0")
		p.include("", "a.example")
		p.offer("duplicate", Link{URL: "http://a.example/1"})
		p.add("http://a.example/2")
		if l := p.lease("http://a.example/2"); l[0].Failures != 0 || l[0].Attempts != 1 {
			p.Errorf("got %+v; want a new round", l[0])
		}
	},
	"redirect, limit and depth": func(p *play) {
		p.begin(Options{MaxDepth: 1})
		p.set("", "", store.QueueChange{Limit: new(int64(1))})
		p.offer("new", Link{URL: "http://a.example/", Depth: 1, Priority: 2, Meta: []byte("m")})
		l := p.lease("http://a.example/")[0]
		p.offer("new", Link{URL: "http://c.example/"})
		r, err := p.f.Redirect(bg, l, "http://b.example/")
		if must(p.T, err); r.Target.Status != StatusNew {
			p.Errorf("got %+v; want a new target", r)
		}
		b := p.leaseQueue("b.example")
		if b.Depth != 1 || b.Priority != 2 || string(b.Meta) != "m" || b.Redirects != 1 {
			p.Errorf("got %+v; want what the source had", b)
		}
		p.count("", "completed=1 fetched=0")
		p.done(b)
		p.count("", "completed=2 fetched=1 held=1")
		p.idle(store.Limited)
	},
	"release, bound and restart": func(p *play) {
		p.begin(Options{MaxReleased: 3})
		p.add("http://a.example/")
		must(p.T, p.f.Release(bg, p.lease("http://a.example/")[0]))
		p.begin(p.opt)
		l := p.lease("http://a.example/")[0]
		if l.Releases != 1 || l.Attempts != 2 {
			p.Errorf("got %+v; want one release", l)
		}
		p.change(1, ActionFree, Query{})
		p.entry("queued releases=2", Link{URL: "http://a.example/"})
		p.lease("http://a.example/")
		p.change(1, ActionFree, Query{})
		p.entry("dropped released releases=3", Link{URL: "http://a.example/"})
		p.count("", "held=0 dropped=1 failed=0")
		p.change(1, ActionRequeue, Query{Reasons: []Reason{ReasonReleased}})
		if l := p.lease("http://a.example/")[0]; l.Releases != 0 {
			p.Errorf("got %+v; want a new round", l)
		}
	},
	"late success and forget": func(p *play) {
		p.begin(Options{MaxInFlight: 1, Lease: 10 * time.Second})
		p.add("http://a.example/")
		first := p.lease("http://a.example/")[0]
		p.wait(11)
		second := p.lease("http://a.example/")[0]
		p.done(first)
		p.count("", "held=0 fetched=1 completed=1")
		n, err := p.f.Forget(bg, Selection{URLs: []Link{{URL: "http://a.example/"}}})
		if err != nil || n != 1 {
			p.Errorf("got %d, %v", n, err)
		}
		p.settle(Stale, Settlement{Lease: second, Outcome: Done})
		p.add("http://a.example/")
		third := p.lease("http://a.example/")[0]
		p.settle(Stale, Settlement{Lease: first, Outcome: Done})
		p.settle(Stale, Settlement{Lease: second, Outcome: Recrawl})
		p.done(third)
		p.count("", "held=0 fetched=2 completed=1 seen=1")
	},
	"late recrawl and a newer lease": func(p *play) {
		p.begin(Options{Lease: 10 * time.Second})
		p.add("http://a.example/soon", "http://a.example/now")
		first := p.lease("http://a.example/soon", "http://a.example/now")
		p.wait(11)
		second := p.lease("http://a.example/soon", "http://a.example/now")
		p.settle(OK, Settlement{Lease: first[0], Outcome: Recrawl, At: p.in(4)})
		p.settle(OK, Settlement{Lease: first[1], Outcome: Recrawl})
		p.wait(1)
		p.lease()
		p.settle(AlreadyDone, Settlement{Lease: second[0], Outcome: Done})
		p.settle(AlreadyDone, Settlement{Lease: second[1], Outcome: Recrawl, At: p.in(5)})
		p.done(p.lease("http://a.example/now")...)
		p.wait(5)
		p.lease()
		p.wait(5)
		p.lease("http://a.example/soon")
		p.count("", "fetched=3")
	},
	"late success and limit": func(p *play) {
		p.begin(Options{Lease: 10 * time.Second})
		p.set("", "", store.QueueChange{Limit: new(int64(1))})
		p.add("http://a.example/", "http://b.example/")
		first := p.lease("http://a.example/")[0]
		p.wait(11)
		second := p.lease("http://a.example/")[0]
		p.done(first)
		p.settle(AlreadyDone, Settlement{Lease: second, Outcome: Done})
		p.count("", "fetched=1 completed=1 held=1")
		p.idle(store.Limited)
	},
	"respell, force and limit": func(p *play) {
		p.begin(Options{})
		p.set("", "", store.QueueChange{Limit: new(int64(1))})
		gone := &Fetched{Status: 404}
		p.add("HTTP://a.example:80/x")
		p.settle(OK, Settlement{Lease: p.lease("HTTP://a.example:80/x")[0], Outcome: Drop, Fetched: gone})
		p.offer("duplicate", Link{URL: "http://a.example/x#1", Force: true})
		p.settle(OK, Settlement{Lease: p.lease("http://a.example/x")[0], Outcome: Drop, Fetched: gone})
		p.entry("dropped", Link{URL: "http://a.example/x"})
		p.offer("duplicate", Link{URL: "HTTP://a.example:80/x"})
		p.offer("duplicate requeued", Link{URL: "http://a.example/x#2"})
		p.settle(OK, Settlement{Lease: p.lease("http://a.example/x#2")[0], Outcome: Drop, Fetched: gone})
		p.offer("duplicate", Link{URL: "http://a.example/x#3"})
		p.offer("duplicate requeued", Link{URL: "http://a.example/x#4", Force: true})
		p.done(p.lease("http://a.example/x#4")...)
		p.count("", "fetched=1 seen=1 completed=1 dropped=0")
	},
	"respell and exclusion": func(p *play) {
		p.begin(Options{})
		p.add("HTTP://a.example:80/x")
		l := p.lease("HTTP://a.example:80/x")[0]
		p.exclude("", "a.example")
		p.settle(OK, Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: 410}})
		p.lease()
		p.count("", "held=0 seen=0")
		p.include("", "a.example")
		p.add("http://a.example/x")
	},
	"two crawls, one exact": func(p *play) {
		p.begin(Options{})
		must(p.T, p.f.SetCrawlProfile(bg, "exact", canon.None()))
		for _, u := range []string{"http://a.example/x", "HTTP://a.example/x"} {
			p.offer("new", Link{URL: u, Crawl: "exact"})
		}
		p.offer("new", Link{URL: "HTTP://a.example/x", Crawl: "news"})
		p.offer("duplicate", Link{URL: "http://a.example/x", Crawl: "news"})
		p.set("exact", "", store.QueueChange{Limit: new(int64(1))})
		p.done(p.leaseOf("exact", "http://a.example/x")...)
		p.done(p.leaseOf("news", "HTTP://a.example/x")...)
		p.count("*", "fetched=2 held=1 seen=3")
		p.change(1, ActionRequeue, Query{Crawl: "news", States: []QueryState{StateDone}})
		p.count("exact", "fetched=1 held=1 seen=2")
		p.change(1, ActionRequeue, Query{Crawl: "*", States: []QueryState{StateDone}})
		p.leaseOf("exact")
		n, err := p.f.Forget(bg, Selection{Crawl: "exact"})
		if err != nil || n != 2 {
			p.Errorf("got %d, %v", n, err)
		}
		p.count("news", "fetched=1 held=1 seen=1")
		p.offer("new", Link{URL: "http://a.example/x", Crawl: "exact"})
		p.offer("new", Link{URL: "http://a.example/x?", Crawl: "exact"})
		p.leaseOf("exact", "http://a.example/x", "http://a.example/x?") // without a limit
	},
	"weights, urgent ones and groups": func(p *play) {
		p.begin(Options{Delay: 10 * time.Second})
		p.offer("new", Link{URL: "http://a.example/1", Group: "g"})
		p.offer("new", Link{URL: "http://b.example/1", Group: "g"})
		p.lease("http://a.example/1")
		p.offer("new", Link{URL: "http://a.example/2", Group: "g"})
		p.offer("duplicate raised", Link{URL: "http://a.example/2", Raise: true, Priority: 7})
		p.set("", "b.example", store.QueueChange{Weight: new(uint8(9))})
		p.add("http://c.example/1")
		p.lease("http://c.example/1") // the gate of the group is closed
		p.wait(10.5)
		p.lease("http://a.example/2")
		p.wait(10.5)
		p.lease("http://b.example/1")
	},
	"depth first and priority": func(p *play) {
		p.begin(Options{})
		must(p.T, p.f.SetDepthFirst(bg, "", true))
		p.offer("new", Link{URL: "http://a.example/0", Depth: 0})
		p.offer("new", Link{URL: "http://a.example/5", Depth: 5})
		p.offer("new", Link{URL: "http://a.example/1", Depth: 1, Priority: 3})
		p.offer("new", Link{URL: "http://a.example/later", Depth: 9, Due: p.in(5)})
		p.offer("duplicate raised", Link{URL: "http://a.example/later", Depth: 9, Force: true})
		p.lease("http://a.example/1", "http://a.example/later", "http://a.example/5", "http://a.example/0")
	},
	"operator's drop and late success": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/1", "http://a.example/2")
		first := p.lease("http://a.example/1", "http://a.example/2")
		must(p.T, p.f.Release(bg, first[0]))
		_, err := p.f.Retry(bg, first[1], p.in(100))
		must(p.T, err)
		p.change(2, ActionDrop, Query{Queue: "a.example"})
		p.entry("dropped operator releases=1", Link{URL: "http://a.example/1"})
		p.done(first[0])
		p.entry("done releases=1", Link{URL: "http://a.example/1"})
		p.count("", "fetched=1 completed=1 dropped=1 failed=0")
		p.change(1, ActionRequeue, Query{Reasons: []Reason{ReasonOperator}})
		p.settle(Stale, Settlement{Lease: first[1], Outcome: Done})
		p.lease("http://a.example/2")
	},
	"free and late success": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/1", "http://a.example/2")
		first := p.lease("http://a.example/1", "http://a.example/2")
		p.change(2, ActionFree, Query{})
		second := p.lease("http://a.example/1", "http://a.example/2")
		p.done(first[0])
		p.settle(AlreadyDone, Settlement{Lease: second[0], Outcome: Done})
		p.settle(Stale, Settlement{Lease: first[1], Outcome: Retry})
		p.done(second[1])
		p.count("", "fetched=2 completed=2 held=0 flying=0")
	},
	"requeue of scheduled ones and counts": func(p *play) {
		p.begin(Options{Attempts: 3})
		p.add("http://a.example/")
		l := p.lease("http://a.example/")[0]
		_, err := p.f.Retry(bg, l, p.in(100))
		must(p.T, err)
		p.change(1, ActionRequeue, Query{States: []QueryState{StateScheduled}})
		l2 := p.lease("http://a.example/")[0]
		if l2.Failures != 1 {
			p.Errorf("got %+v; want one failure", l2)
		}
		p.settle(OK, Settlement{Lease: l2, Outcome: Recrawl, At: p.in(100)})
		p.settle(Stale, Settlement{Lease: l, Outcome: Done}) // of an earlier round
		p.offer("duplicate raised", Link{URL: "http://a.example/", UnlessFetchedAfter: p.in(1)})
		p.done(p.lease("http://a.example/")...)
		p.count("", "fetched=2 completed=1 failed=0")
	},
	"defer with a block, taken back": func(p *play) {
		p.begin(Options{RetryAfter: 20 * time.Second})
		p.add("http://a.example/1", "http://a.example/2")
		l := p.leaseQueue("a.example")
		p.settle(OK, Settlement{Lease: l, Outcome: Retry, BlockQueue: p.in(100), Fetched: &Fetched{Status: 503}})
		p.entry("scheduled deferrals=1", Link{URL: l.URL})
		p.idle(store.Blocked)
		p.begin(p.opt)
		p.idle(store.Blocked)
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(-1))})
		p.done(p.lease("http://a.example/2")...)
		p.wait(20)
		p.lease("http://a.example/1")
	},
	"a host that is down, and a restart": func(p *play) {
		p.begin(Options{Attempts: -1, RetryAfter: time.Millisecond})
		for i := range 7 {
			p.add(fmt.Sprint("http://a.example/", i))
		}
		p.add("http://b.example/")
		for range 5 {
			l := p.leaseQueue("a.example")
			_, err := p.f.Retry(bg, l, p.in(10_000))
			must(p.T, err)
		}
		p.lease("http://b.example/")
		p.begin(p.opt)
		p.lease()
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(-1))})
		p.lease("http://a.example/5", "http://a.example/6")
	},
	"recrawl and limit": func(p *play) {
		p.begin(Options{})
		p.set("", "a.example", store.QueueChange{Limit: new(int64(2))})
		p.add("http://a.example/")
		for range 2 {
			p.settle(OK, Settlement{Lease: p.lease("http://a.example/")[0], Outcome: Recrawl})
		}
		p.idle(store.Limited)
		p.offer("duplicate", Link{URL: "http://a.example/", Force: true})
		p.set("", "a.example", store.QueueChange{Limit: new(int64(3))})
		p.done(p.lease("http://a.example/")...)
		p.count("", "fetched=3 completed=1")
		p.change(1, ActionForget, Query{Queue: "a.example"})
		p.count("", "fetched=3 completed=0")
		p.add("http://a.example/")
		p.idle(store.Limited)
	},
	"requeue beyond caps": func(p *play) {
		p.begin(Options{MaxHeld: 2})
		p.add("http://a.example/1", "http://a.example/2")
		p.done(p.lease("http://a.example/1", "http://a.example/2")...)
		p.add("http://b.example/1")
		p.change(2, ActionRequeue, Query{States: []QueryState{StateDone}})
		p.count("", "held=3")
		p.offer("refused full", Link{URL: "http://c.example/"})
		p.done(p.lease("http://b.example/1", "http://a.example/1", "http://a.example/2")...)
		p.add("http://c.example/", "http://d.example/")
		p.offer("refused full", Link{URL: "http://a.example/1", Force: true})
		p.entry("done", Link{URL: "http://a.example/1"})
	},
	"long metadata": func(p *play) {
		p.begin(Options{})
		long := make([]byte, MaxMeta+1)
		p.offer("new", Link{URL: "http://a.example/", Meta: long[:MaxMeta]})
		for _, u := range []Link{{URL: "http://b.example/", Meta: long}, {URL: "http://b.example/", Discriminator: string(long)}} {
			if _, err := p.f.AddBatch(bg, []Link{u}); !errors.Is(err, store.ErrInvalid) {
				p.Errorf("got %v; want it refused", err)
			}
			if _, err := p.f.Put(bg, []Known{{Link: u}}); !errors.Is(err, store.ErrInvalid) {
				p.Errorf("got %v; want it refused", err)
			}
		}
		l := p.lease("http://a.example/")[0]
		if _, err := p.f.Settle(bg, []Settlement{{Lease: l, Outcome: Done, Meta: long}}); !errors.Is(err, store.ErrInvalid) {
			p.Errorf("got %v; want it refused", err)
		}
		p.done(l)
	},
	"recrawl, retention and another crawl": func(p *play) {
		const minute = 60
		p.begin(Options{SeenFor: 100 * minute * time.Second})
		for _, crawl := range []string{"news", "shop"} {
			p.offer("new", Link{URL: "http://a.example/1", Crawl: crawl})
			p.offer("new", Link{URL: "http://a.example/2", Crawl: crawl})
		}
		p.set("news", "", store.QueueChange{Retention: new(10 * minute * time.Second)})
		p.done(p.leaseOf("shop", "http://a.example/1", "http://a.example/2")...)
		l := p.leaseOf("news", "http://a.example/1", "http://a.example/2")
		p.done(l[0])
		p.settle(OK, Settlement{Lease: l[1], Outcome: Recrawl, At: p.in(20 * minute)})
		p.wait(13 * minute)
		p.offer("duplicate", Link{URL: "http://a.example/1", Crawl: "shop"})
		p.offer("new", Link{URL: "http://a.example/1", Crawl: "news"})
		p.offer("duplicate", Link{URL: "http://a.example/2", Crawl: "news"})
		p.done(p.leaseOf("news", "http://a.example/1")...)
		p.wait(8 * minute)
		p.done(p.leaseOf("news", "http://a.example/2")...)
		p.wait(6 * minute)
		p.offer("duplicate", Link{URL: "http://a.example/2", Crawl: "news"})
		p.wait(7 * minute)
		p.offer("new", Link{URL: "http://a.example/2", Crawl: "news"})
		p.wait(92 * minute)
		p.offer("new", Link{URL: "http://a.example/2", Crawl: "shop"})
	},
	"exclusion and an exact crawl": func(p *play) {
		p.begin(Options{})
		rules, err := canon.ParseURLSet([]byte("a.example\n"))
		must(p.T, err)
		must(p.T, p.f.SetCrawlProfile(bg, "exact", canon.None()))
		p.offer("new", Link{URL: "HTTP://A.example:80/x#1", Crawl: "exact"})
		p.offer("new", Link{URL: "HTTP://A.example:80/x#1"})
		for _, crawl := range []string{"exact", ""} {
			n := 0
			for range p.f.Find(bg, Query{Crawl: crawl, URLs: rules}) {
				n++
			}
			if n != 1 {
				p.Errorf("crawl %q: %d URLs match the rule; want 1", crawl, n)
			}
		}
		p.exclude("*", "a.example")
		p.count("*", "held=0")
		p.offer("refused excluded", Link{URL: "http://a.example/y", Crawl: "exact"})
		p.offer("refused excluded", Link{URL: "HTTP://A.example:80/x#1", Crawl: "exact"})
	},
	"group and back-off": func(p *play) {
		p.begin(Options{Attempts: -1, FailingAfter: 2})
		for i := range 3 {
			p.offer("new", Link{URL: fmt.Sprint("http://a.example/", i), Group: "g"})
		}
		p.offer("new", Link{URL: "http://b.example/", Group: "g"})
		for range 2 {
			_, err := p.f.Retry(bg, p.leaseQueue("a.example"), p.in(10_000))
			must(p.T, err)
		}
		p.lease("http://b.example/")
	},
	"group and leases at a time": func(p *play) {
		p.begin(Options{MaxInFlight: 2})
		for _, u := range []string{"http://a.example/1", "http://b.example/1", "http://c.example/1"} {
			p.offer("new", Link{URL: u, Group: "g"})
		}
		l := p.lease("http://a.example/1", "http://b.example/1")
		p.begin(p.opt)
		p.lease()
		p.set("", "b.example", store.QueueChange{Group: new("")})
		p.lease("http://c.example/1")
		p.done(l...)
	},
	"respell in a full queue": func(p *play) {
		p.begin(Options{MaxPerQueue: 1})
		p.add("HTTP://a.example/x")
		l := p.lease("HTTP://a.example/x")[0]
		p.offer("refused full", Link{URL: "http://a.example/y"})
		p.settle(OK, Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: 404}})
		p.offer("refused full", Link{URL: "http://a.example/y"})
		p.done(p.lease("http://a.example/x")...)
		p.add("http://a.example/y")
	},
	"redirect to what is excluded": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/")
		p.exclude("", "b.example")
		r, err := p.f.Redirect(bg, p.lease("http://a.example/")[0], "http://b.example/")
		if must(p.T, err); r.Target.Reason != ReasonExcluded {
			p.Errorf("got %+v", r)
		}
		p.count("", "completed=1 fetched=0 held=0 seen=1")
		p.include("", "b.example")
		p.add("http://b.example/")
	},
	"redirects, a restart and a late report": func(p *play) {
		p.begin(Options{Lease: 10 * time.Second})
		p.add("http://a.example/")
		first := p.lease("http://a.example/")[0]
		p.wait(11)
		second := p.lease("http://a.example/")[0]
		_, err := p.f.Redirect(bg, first, "http://b.example/")
		must(p.T, err)
		if _, err = p.f.Redirect(bg, second, "http://b.example/"); !errors.Is(err, ErrAlreadyDone) {
			p.Errorf("got %v; want that it is done", err)
		}
		p.begin(p.opt)
		_, err = p.f.Redirect(bg, p.lease("http://b.example/")[0], "http://a.example/") // with a cookie
		must(p.T, err)
		l := p.lease("http://a.example/")[0]
		if l.Redirects != 2 {
			p.Errorf("got %+v; want two redirects", l)
		}
		p.done(l)
		p.count("", "completed=2 fetched=1 held=0 failed=0")
	},
	"the last attempt is not found": func(p *play) {
		p.begin(Options{Attempts: 2})
		p.add("HTTP://a.example/x", "http://b.example/x")
		for range 2 {
			for _, l := range p.lease("HTTP://a.example/x", "http://b.example/x") {
				_, err := p.f.Settle(bg, []Settlement{{Lease: l, Outcome: Retry, At: p.in(1), Fetched: &Fetched{Status: 404}}})
				must(p.T, err)
			}
			p.wait(2)
		}
		p.entry("dropped attempts failures=2", Link{URL: "http://b.example/x"})
		if l := p.lease("http://a.example/x")[0]; l.Failures != 0 || l.Attempts != 1 {
			p.Errorf("got %+v; want a new round", l)
		}
		p.count("", "failed=1 dropped=1 held=1")
	},
	"bounds of deferrals and expiries": func(p *play) {
		p.begin(Options{MaxDeferred: 2, MaxExpired: 2, Lease: 10 * time.Second})
		p.add("http://a.example/")
		for range 2 {
			_, err := p.f.Settle(bg, []Settlement{{Lease: p.lease("http://a.example/")[0], Outcome: Defer, At: p.in(1)}})
			must(p.T, err)
			p.wait(2)
		}
		p.entry("dropped deferred deferrals=2", Link{URL: "http://a.example/"})
		p.change(1, ActionRequeue, Query{Reasons: []Reason{ReasonDeferred}})
		for range 2 {
			p.lease("http://a.example/")
			p.wait(11)
		}
		p.lease()
		p.entry("dropped expired-leases expiries=2", Link{URL: "http://a.example/"})
		p.offer("duplicate requeued", Link{URL: "http://a.example/", UnlessFetchedAfter: p.in(1)})
		l := p.lease("http://a.example/")[0]
		p.offer("duplicate", Link{URL: "http://a.example/", Force: true, UnlessFetchedAfter: p.in(1)})
		if l.Expiries != 0 {
			p.Errorf("got %+v; want a new round", l)
		}
		p.done(l)
	},
	"blocks of three scopes": func(p *play) {
		p.begin(Options{})
		p.add("http://a.example/")
		until := p.in(300)
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(100))})
		p.set("", "", store.QueueChange{BlockedUntil: &until})
		p.set("*", "", store.QueueChange{BlockedUntil: new(p.in(200))})
		_, idle, err := p.f.Lease(bg, LeaseRequest{})
		if must(p.T, err); idle.State != store.Blocked || idle.Next.Sub(until).Abs() > time.Millisecond {
			p.Errorf("got %v; want blocked until %v", idle, until)
		}
		p.set("", "", store.QueueChange{BlockedUntil: new(p.in(-1))})
		_, idle, err = p.f.Lease(bg, LeaseRequest{})
		if must(p.T, err); idle.State != store.Blocked || !idle.Next.Before(until) {
			p.Errorf("got %v; want blocked by the store", idle)
		}
		p.set("*", "", store.QueueChange{BlockedUntil: new(p.in(-1))})
		p.set("", "a.example", store.QueueChange{BlockedUntil: new(p.in(-1))})
		p.lease("http://a.example/")
	},
	"limits of three scopes, and a queue that is forgotten": func(p *play) {
		p.begin(Options{})
		p.set("*", "", store.QueueChange{Limit: new(int64(1))})
		for _, crawl := range []string{"news", "shop"} {
			p.offer("new", Link{URL: "http://a.example/1", Crawl: crawl})
			p.offer("new", Link{URL: "http://a.example/2", Crawl: crawl})
		}
		p.set("shop", "", store.QueueChange{Limit: new(int64(2))})
		p.done(p.leaseOf("news", "http://a.example/1")...)
		p.done(p.leaseOf("shop", "http://a.example/1", "http://a.example/2")...)
		p.set("shop", "a.example", store.QueueChange{Limit: new(int64(1)), Group: new("g")})
		n, err := p.f.Forget(bg, Selection{Crawl: "shop", Queue: "a.example"})
		if err != nil || n != 2 {
			p.Errorf("got %d, %v; want 2 forgotten", n, err)
		}
		p.count("shop", "fetched=0 completed=0 seen=0")
		p.offer("new", Link{URL: "http://a.example/1", Crawl: "shop"})
		p.offer("new", Link{URL: "http://a.example/2", Crawl: "shop"})
		p.done(p.leaseOf("shop", "http://a.example/1")...) // the limit of the queue stays
		q, err := p.f.Queue(bg, "shop", "a.example")
		if err != nil || q.Group != "g" || q.Limit != 1 {
			p.Errorf("got %+v, %v; want the settings as they were", q, err)
		}
	},
	"order of all, of a crawl, and a restart": func(p *play) {
		p.begin(Options{})
		must(p.T, p.f.SetDepthFirst(bg, "*", true))
		must(p.T, p.f.SetDepthFirst(bg, "", true))
		must(p.T, p.f.SetDepthFirst(bg, "*", false))
		p.begin(p.opt)
		p.offer("new", Link{URL: "http://a.example/1", Depth: 1})
		p.offer("new", Link{URL: "http://a.example/2", Depth: 2})
		p.lease("http://a.example/2", "http://a.example/1")
	},
}

// leaseQueue leases from a queue.
func (p *play) leaseQueue(queue string) *Lease {
	p.Helper()
	list, idle, err := p.f.Lease(bg, LeaseRequest{Queue: queue})
	must(p.T, err)
	if len(list) != 1 {
		p.Fatalf("got %d leases, %v; want one", len(list), idle)
	}
	return list[0]
}
