package frontier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// TestTranscripts runs testdata/transcripts on pebblestore, in a time of their
// own that passes at "wait" alone; `go test -run Transcripts -rewrite` writes
// them again. Durations are like 1s, times like +1s from now. Commands:
//
//	open       a frontier: delay, in-flight, lease, attempts, max-deferred, max-released, max-expired, max-per-queue,
//	           max-held, max-fetched, max-depth, max-redirects, queries, adaptive, seen-for, queue-by=(domain)
//	restart    closes it and opens it on the same store
//	add        lines of URL depth=, priority=, due=, disc=, queue=, force, raise
//	lease      n=, queue=, keep (the lease before it, for first)
//	done, drop, release, retry at=, defer at=, recrawl at=, retry-after at=, extend, redirect to=
//	           each line a URL that was leased; with first, under the lease that was kept
//	notfound   drop for status 404
//	loop       Leases, which are done, until it ends
//	wait       until so much time has passed
//	configure  queue=, delay=, weight=, in-flight=, limit=, paused=, block=
//	forget     lines of URLs
//	stats, entries, refusals
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{t: t, fs: vfs.NewMem(), leases: map[string]*Lease{}, first: map[string]*Lease{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(d) })
			s.close()
		})
	})
}

// script is a transcript as it runs.
type script struct {
	t      *testing.T
	fs     vfs.FS
	db     *pebblestore.Store
	opt    Options
	f      *Frontier
	leases map[string]*Lease // the latest of each URL
	first  map[string]*Lease // those before a lease that was to keep them
}

func (s *script) close() {
	if s.f == nil {
		return
	}
	must(s.t, s.f.Close())
	must(s.t, s.db.Close())
	s.f = nil
}

func (s *script) open() string {
	s.close()
	db, err := pebblestore.Open("db", pebblestore.Options{FS: s.fs, KeepURLs: true})
	must(s.t, err)
	s.db = db
	s.f, err = New(db, s.opt)
	must(s.t, err)
	return "ok\n"
}

func (s *script) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "open":
		s.close()
		s.fs, s.opt = vfs.NewMem(), s.options(d)
		return s.open()
	case "restart":
		return s.open()
	case "add":
		return s.add(d)
	case "lease":
		return s.lease(d)
	case "wait":
		time.Sleep(duration(s.t, d.CmdArgs[0].Key))
		return "ok\n"
	case "configure":
		c, queue := s.change(d)
		return said(s.f.Configure(bg, "", queue, c))
	case "forget":
		n, err := s.f.Forget(bg, Selection{URLs: lines(d)})
		return said(err) + fmt.Sprintf("%d forgotten\n", n)
	case "loop":
		return s.loop()
	case "stats":
		st, err := s.f.Stats(bg, "")
		must(s.t, err)
		return fmt.Sprintf("seen %d, held %d, in flight %d, completed %d, dropped %d; %d fetched, %d failed\n", st.Seen, st.Held, st.InFlight, st.Completed, st.Dropped, st.Fetched, st.Failed)
	case "entries":
		return s.entries()
	case "refusals":
		return s.refusals()
	}
	return s.settle(d)
}

func (s *script) options(d *datadriven.TestData) Options {
	opt := Options{Delay: -1}
	numbers := map[string]*int{
		"in-flight": &opt.MaxInFlight, "attempts": &opt.Attempts, "max-deferred": &opt.MaxDeferred, "max-released": &opt.MaxReleased, "max-expired": &opt.MaxExpired,
		"max-depth": &opt.MaxDepth, "max-redirects": &opt.maxRedirects, "queries": &opt.Traps.Queries,
	}
	long := map[string]*int64{"max-per-queue": &opt.MaxPerQueue, "max-held": &opt.MaxHeld}
	durations := map[string]*time.Duration{"delay": &opt.Delay, "lease": &opt.Lease, "seen-for": &opt.SeenFor}
	for _, a := range d.CmdArgs {
		v := a.Vals[0]
		switch {
		case numbers[a.Key] != nil:
			*numbers[a.Key] = number(s.t, v)
		case long[a.Key] != nil:
			*long[a.Key] = int64(number(s.t, v))
		case durations[a.Key] != nil:
			*durations[a.Key] = duration(s.t, v)
		case a.Key == "adaptive":
			opt.Adaptive = float64(number(s.t, v))
		case a.Key == "queue-by":
			opt.QueueBy = ByDomain
		default:
			s.t.Fatalf("%s: no option %q", d.Pos, a.Key)
		}
	}
	return opt
}

func (s *script) change(d *datadriven.TestData) (c store.QueueChange, queue string) {
	for _, a := range d.CmdArgs {
		switch v := a.Vals[0]; a.Key {
		case "queue":
			queue = v
		case "delay":
			c.Delay = new(duration(s.t, v))
		case "block":
			c.BlockedUntil = new(s.time(v))
		case "weight":
			c.Weight = new(uint8(number(s.t, v)))
		case "in-flight":
			c.MaxInFlight = new(number(s.t, v))
		case "limit":
			c.Limit = new(int64(number(s.t, v)))
		case "paused":
			c.Paused = new(v == "true")
		default:
			s.t.Fatalf("%s: no setting %q", d.Pos, a.Key)
		}
	}
	return c, queue
}

// time reads +1s, or now for "".
func (s *script) time(v string) time.Time {
	if v == "" {
		return time.Time{}
	}
	return time.Now().Add(duration(s.t, strings.TrimPrefix(v, "+")))
}

func duration(t *testing.T, v string) time.Duration {
	d, err := time.ParseDuration(v)
	must(t, err)
	return d
}

func number(t *testing.T, v string) int {
	n, err := strconv.Atoi(v)
	must(t, err)
	return n
}

func said(err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

func lines(d *datadriven.TestData) (urls []Link) {
	for line := range strings.Lines(d.Input) {
		urls = append(urls, Link{URL: strings.TrimSpace(line)})
	}
	return urls
}

// add offers the lines in one batch.
func (s *script) add(d *datadriven.TestData) string {
	urls := lines(d)
	for i := range urls {
		words := strings.Fields(urls[i].URL)
		urls[i].URL = words[0]
		for _, w := range words[1:] {
			s.attribute(&urls[i], w)
		}
	}
	results := addAll(s.t, s.f, urls...)
	var out strings.Builder
	for _, r := range results {
		switch {
		case r.Status == StatusRefused:
			fmt.Fprintf(&out, "refused: %s\n", r.Reason)
		case r.Requeued:
			fmt.Fprintf(&out, "queued again\n")
		case r.Raised:
			fmt.Fprintf(&out, "raised\n")
		case r.First != "":
			fmt.Fprintf(&out, "duplicate of %s\n", r.First)
		default:
			fmt.Fprintln(&out, r.Status)
		}
	}
	return out.String()
}

func (s *script) attribute(u *Link, word string) {
	key, v, _ := strings.Cut(word, "=")
	switch key {
	case "depth":
		u.Depth = number(s.t, v)
	case "priority":
		u.Priority = uint8(number(s.t, v))
	case "due":
		u.Due = s.time(v)
	case "disc":
		u.Discriminator = v
	case "queue":
		u.Queue = v
	case "force":
		u.Force = true
	case "raise":
		u.Raise = true
	default:
		s.t.Fatalf("no attribute %q of a URL", word)
	}
}

func (s *script) lease(d *datadriven.TestData) string {
	req := LeaseRequest{Max: 1}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "n":
			req.Max = number(s.t, a.Vals[0])
		case "queue":
			req.Crawl, req.Queue = store.DefaultCrawl, a.Vals[0]
		}
	}
	leases, idle, err := s.f.Lease(bg, req)
	must(s.t, err)
	var out strings.Builder
	for _, l := range leases {
		if slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "keep" }) {
			s.first[l.URL] = s.leases[l.URL]
		}
		s.leases[l.URL] = l
		fmt.Fprint(&out, l.URL)
		if l.Attempts > 1 {
			fmt.Fprintf(&out, " (attempt %d%s)", l.Attempts, countsOf(l))
		}
		fmt.Fprintln(&out)
	}
	switch {
	case len(leases) == req.Max:
	case idle.Next.IsZero():
		fmt.Fprintln(&out, "no more"+because(idle))
	default:
		fmt.Fprintf(&out, "no more for %v%s\n", time.Until(idle.Next), because(idle))
	}
	return out.String()
}

// loop fetches what there is until the loop ends.
func (s *script) loop() string {
	var out strings.Builder
	for l, err := range s.f.Leases(bg) {
		if err != nil {
			return out.String() + err.Error() + "\n"
		}
		fmt.Fprintln(&out, l.URL)
		must(s.t, s.f.Done(bg, l))
	}
	return out.String() + "finished\n"
}

// because writes why there are no leases.
func because(idle Idle) string {
	if idle.State == store.Served {
		return ""
	}
	return ": " + idle.State.String()
}

// countsOf writes how the earlier leases ended.
func countsOf(l *Lease) string {
	var out strings.Builder
	for _, c := range []struct {
		n    int
		what string
	}{{l.Failures, "failed"}, {l.Deferrals, "deferred"}, {l.Releases, "released"}, {l.Expiries, "expired"}} {
		if c.n > 0 {
			fmt.Fprintf(&out, ", %d %s", c.n, c.what)
		}
	}
	return out.String()
}

// settle settles the latest lease of each line.
func (s *script) settle(d *datadriven.TestData) string {
	var at time.Time
	args := map[string]string{}
	for _, a := range d.CmdArgs {
		args[a.Key] = strings.Join(a.Vals, ",")
	}
	at = s.time(args["at"])
	var out strings.Builder
	for _, u := range lines(d) {
		l := s.leases[u.URL]
		if _, late := args["first"]; late {
			l = s.first[u.URL]
		}
		if l == nil {
			s.t.Fatalf("%s: %s was never leased", d.Pos, u.URL)
		}
		out.WriteString(s.settleOne(d, l, at, args))
	}
	return out.String()
}

func (s *script) settleOne(d *datadriven.TestData, l *Lease, at time.Time, args map[string]string) string {
	switch d.Cmd {
	case "done":
		return said(s.f.Done(bg, l))
	case "drop":
		return said(s.f.Drop(bg, l))
	case "notfound":
		answer, err := s.f.settleOne(bg, Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: 404}})
		return strings.TrimPrefix(said(err), "ok\n") + answer.String() + "\n"
	case "release":
		return said(s.f.Release(bg, l))
	case "extend":
		return said(extend(s.f, l, at))
	case "recrawl":
		return said(s.f.Recrawl(bg, l, at))
	case "retry", "defer", "retry-after":
		again, err := false, error(nil)
		switch d.Cmd {
		case "retry":
			again, err = s.f.Retry(bg, l, at)
		case "defer":
			var answer Settled
			answer, err = s.f.settleOne(bg, Settlement{Lease: l, Outcome: Defer, At: at})
			again = answer == OK
		default:
			again, err = retryBlocking(s.f, l, at)
		}
		if err == nil && !again {
			return "given up\n"
		}
		return said(err)
	case "redirect":
		r, err := s.f.Redirect(bg, l, args["to"])
		if err == nil && r.Follow != nil {
			s.leases[strings.TrimSpace(d.Input)] = r.Follow
			return "follow " + r.Follow.URL + "\n"
		}
		if r.Target.Requeued {
			return "target queued again\n"
		}
		return strings.TrimPrefix(said(err), "ok\n") + fmt.Sprintln("target", r.Target.Status, r.Target.Reason)
	}
	s.t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return ""
}

func (s *script) entries() string {
	var out strings.Builder
	for e, err := range s.f.Entries(bg, "", "") {
		must(s.t, err)
		fmt.Fprintf(&out, "%s %s", e.URL, [...]string{"seen", "queued", "leased", "done", "dropped"}[e.State])
		fmt.Fprintln(&out)
	}
	return out.String()
}

func (s *script) refusals() string {
	var out strings.Builder
	for r := range s.f.Refusals() {
		fmt.Fprintf(&out, "%s: %d, %s\n", r.Reason, r.Count, strings.Join(r.Examples, " "))
	}
	return out.String()
}
