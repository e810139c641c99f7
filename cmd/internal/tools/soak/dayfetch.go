//go:build linux

package main

import (
	"context"
	"flag"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/async"
)

// dayLoops is how many loops of lease, fetch, offer and settle a fetcher has; each leases up to dayMax pages at a time.
const (
	dayLoops              = 4
	dayMax                = 100
	dayBatch, dayInFlight = 100, 8      // URLs of an offer, offers of a loop
	dayDelay              = time.Second // of a host
)

// dayFetch crawls until it is killed.
func dayFetch(ctx context.Context, args []string) error {
	var addr, grpcAddr, name string
	var seed uint64
	var rate int
	var w dayWeb
	fs := flag.NewFlagSet("dayfetch", flag.ContinueOnError)
	fs.StringVar(&addr, "addr", "", "of the daemon's HTTP interface")
	fs.StringVar(&grpcAddr, "grpc", "", "address to offer to; default: that of HTTP, in lines of text")
	fs.StringVar(&name, "journal", "", "file to write to")
	fs.Uint64Var(&seed, "seed", 0, "of what is drawn")
	fs.IntVar(&rate, "rate", 0, "pages a second; default: as many as there are")
	fs.IntVar(&w.known, "known", 0, "see day")
	fs.IntVar(&w.queued, "queued", 0, "see day")
	fs.IntVar(&w.hosts, "hosts", 1, "see day")
	if err := fs.Parse(args); err != nil {
		return err
	}
	j, err := openJournal(name)
	if err != nil {
		return err
	}
	offers, inFlight := func() offering { return &textOffers{api: newAPI(addr)} }, 1
	if grpcAddr != "" {
		conn, err := dialDay(grpcAddr)
		if err != nil {
			return err
		}
		offers, inFlight = func() offering { return &streamOffers{client: frontierpb.NewURLFrontierClient(conn)} }, dayInFlight
	}
	var all sync.WaitGroup
	for i := range dayLoops {
		l := dayLoop{web: w, api: newAPI(addr), offers: offers(), inFlight: inFlight, journal: j, r: rand.New(rand.NewPCG(seed, uint64(i)))}
		all.Go(func() {
			for next := time.Now(); ctx.Err() == nil; {
				n := l.turn(ctx)
				if rate > 0 {
					next = next.Add(time.Duration(n) * dayLoops * time.Second / time.Duration(rate))
					_ = async.Sleep(ctx, time.Until(next))
				}
			}
		})
	}
	all.Wait()
	return nil
}

type dayLoop struct {
	web      dayWeb
	api      *api
	offers   offering
	inFlight int // batches that are offered at a time
	journal  *journal
	r        *rand.Rand
}

// timed makes a call and notes how long it took. The daemon may be down: then the caller goes on after a moment.
func (l *dayLoop) timed(ctx context.Context, note *lines, what string, n int, call func() error) error {
	began := time.Now()
	return l.took(ctx, note, what, n, began, call())
}

// took notes how long a call took that ended with err.
func (l *dayLoop) took(ctx context.Context, note *lines, what string, n int, began time.Time, err error) error {
	word := "took"
	if err != nil {
		word = "failed"
		_ = async.Sleep(ctx, 20*time.Millisecond)
	}
	note.add(word, what, time.Since(began).Microseconds(), n)
	return err
}

// write writes to the journal, and begins anew. A journal that cannot be written is short, which the report shows.
func (l *dayLoop) write(note *lines) {
	_ = l.journal.write(note)
	*note = lines{}
}

// turn leases, fetches, offers what was found, and settles. It returns how many pages it fetched.
func (l *dayLoop) turn(ctx context.Context) int {
	var note lines
	defer func() { l.write(&note) }()
	var answer struct{ Leases []leased }
	err := l.timed(ctx, &note, "lease", dayMax, func() error {
		return l.api.ask(ctx, http.MethodPost, "/v1/lease", map[string]any{"max": dayMax, "max_per_queue": 1, "max_in_flight": 1,
			"lease_seconds": leaseTime.Seconds(), "delay_seconds": dayDelay.Seconds(), "wait_seconds": 1, "stay": true}, &answer)
	})
	if err != nil || len(answer.Leases) == 0 {
		return 0
	}
	for _, got := range answer.Leases {
		note.add("lease", dayPage(got.URL), got.Token, got.Queue, got.Expires.UnixNano())
	}
	l.write(&note)
	settle := make([]settlement, len(answer.Leases))
	var found []int
	for i, got := range answer.Leases {
		settle[i] = settlement{Crawl: got.Crawl, Key: got.Key, Token: got.Token, Attempts: got.Attempts, Outcome: "done"}
		switch n := l.r.IntN(100); {
		case n < 3:
			settle[i].Outcome, settle[i].At = "retry", time.Now().Add(10*time.Second)
		case n < 5:
			settle[i].Outcome = "drop"
		case n < 8: // redirected to a page that is known or new
			found = append(found, l.web.links(l.r, dayPage(got.URL), nil)[l.r.IntN(dayLinks)])
		default:
			found = l.web.links(l.r, dayPage(got.URL), found)
		}
	}
	if !l.offer(ctx, &note, found) {
		return len(settle) // the leases run out, and what they found is offered then
	}
	for i, s := range settle {
		note.add("settle", dayPage(answer.Leases[i].URL), s.Token, s.Outcome)
	}
	l.write(&note)
	var answers struct{ Answers []string }
	_ = l.timed(ctx, &note, "done", len(settle), func() error { // without an answer the leases run out, or were settled
		return l.api.ask(ctx, http.MethodPost, "/v1/done", map[string]any{"leases": settle}, &answers)
	})
	for i, what := range answers.Answers {
		note.add("settled", dayPage(answer.Leases[i].URL), settle[i].Token, what)
	}
	return len(settle)
}

// offer offers pages, up to inFlight batches at a time, and notes those that were told new.
func (l *dayLoop) offer(ctx context.Context, note *lines, found []int) bool {
	type batch struct {
		pages []int
		at    time.Time
	}
	var sent []batch
	for len(found) > 0 || len(sent) > 0 {
		if len(found) > 0 && len(sent) < l.inFlight {
			b := batch{found[:min(dayBatch, len(found))], time.Now()}
			found = found[len(b.pages):]
			urls := make([]string, len(b.pages))
			for i, page := range b.pages {
				urls[i] = l.web.variant(l.r, page)
			}
			if err := l.offers.send(ctx, urls); err != nil {
				_ = l.took(ctx, note, "offer", len(urls), b.at, err)
				return false
			}
			sent = append(sent, b)
			continue
		}
		b := sent[0]
		sent = sent[1:]
		isNew, err := l.offers.receive()
		if l.took(ctx, note, "offer", len(b.pages), b.at, err) != nil || len(isNew) != len(b.pages) {
			return false
		}
		for i, page := range b.pages {
			if isNew[i] {
				note.add("new", page)
			}
		}
		l.write(note)
	}
	return true
}
