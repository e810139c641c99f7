//go:build linux

package main

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// page is the page that an entry is about.
func (e *entry) page() (int, bool) {
	if len(e.fields) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(e.fields[0])
	return n, err == nil && n >= 0
}

// handOut is a lease that a fetcher got, in ns.
type handOut struct {
	at      int64 // by the fetcher's clock, after the answer
	granted int64 // by the daemon's clock
	expires int64 // by the daemon's clock
	page    int
	token   string
	queue   string
}

// findings are what the journals say.
type findings struct {
	offers, news, fetches, settled int
	twiceNew, lost                 []int
	twiceLeased, impolite          []handOut
	drained                        bool
	forgotten                      int
	grown                          []growth
}

// book is the data of the journals.
type book struct {
	delay    time.Duration // of a host
	news     map[int]int
	final    map[int]bool     // permanently settled, or asked to be
	settle   map[string]int64 // token to when its settlement was first asked
	handOuts []handOut
}

func judge(pattern string, steps []step) (*findings, error) {
	f, b := &findings{}, newBook(hostDelay)
	if err := readJournals(pattern, func(e entry) { b.take(f, e) }); err != nil {
		return nil, err
	}
	f.news = len(b.news)
	for page, n := range b.news {
		if n > 1 {
			f.twiceNew = append(f.twiceNew, page)
		}
		if !b.final[page] {
			f.lost = append(f.lost, page)
		}
	}
	f.twiceLeased = b.overlaps()
	f.impolite = b.tooSoon(steps)
	return f, nil
}

func newBook(delay time.Duration) *book {
	return &book{delay: delay, news: map[int]int{}, final: map[int]bool{}, settle: map[string]int64{}}
}

func (b *book) take(f *findings, e entry) {
	page, ok := e.page()
	if !ok {
		return
	}
	switch e.word {
	case "new":
		b.news[page]++
		f.offers++
	case "duplicate", "refused", "failed":
		f.offers++
	case "lease":
		if len(e.fields) == 4 {
			expires, err := strconv.ParseInt(e.fields[3], 10, 64)
			if err == nil {
				b.handOuts = append(b.handOuts, handOut{e.at, expires - int64(leaseTime), expires, page, e.fields[1], e.fields[2]})
				f.fetches++
			}
		}
	case "settle":
		if len(e.fields) == 3 {
			b.settle[e.fields[1]] = e.at
			if o := e.fields[2]; o == "done" || o == "drop" {
				b.final[page] = true
			}
		}
	case "settled":
		f.settled++
		if len(e.fields) == 3 && e.fields[2] == "gave-up" {
			b.final[page] = true
		}
	}
}

// jitter is what clocks and rounding may differ by.
const jitter = int64(2 * time.Millisecond)

// overlaps returns the leases of a page that began while an earlier one was valid: not expired by
// the daemon's clock, and without a request to settle it.
func (b *book) overlaps() (bad []handOut) {
	slices.SortFunc(b.handOuts, func(x, y handOut) int { return cmp.Or(cmp.Compare(x.page, y.page), cmp.Compare(x.at, y.at)) })
	for i := 1; i < len(b.handOuts); i++ {
		before, h := &b.handOuts[i-1], &b.handOuts[i]
		if before.page != h.page || before.token == h.token {
			continue
		}
		asked, settled := b.settle[before.token]
		if h.granted < before.expires-jitter && !(settled && asked <= h.at) {
			bad = append(bad, *h)
		}
	}
	return bad
}

// tooSoon are hand-outs of a host sooner after the one before than its delay. Pairs with a
// step of the clock between them are left out.
func (b *book) tooSoon(steps []step) (bad []handOut) {
	slices.SortFunc(b.handOuts, func(x, y handOut) int {
		return cmp.Or(cmp.Compare(x.queue, y.queue), cmp.Compare(x.at, y.at))
	})
	const around = int64(2 * time.Second) // a step takes effect a little later
	stepped := func(from, to int64) bool {
		return slices.ContainsFunc(steps, func(s step) bool { return s.at > from-around && s.at < to+around })
	}
	for i := 1; i < len(b.handOuts); i++ {
		x, y := &b.handOuts[i-1], &b.handOuts[i]
		gap := max(x.granted, y.granted) - min(x.granted, y.granted) // answers may overtake each other
		if x.queue == y.queue && gap < int64(b.delay)-jitter && !stepped(x.at, y.at) {
			bad = append(bad, *y)
		}
	}
	return bad
}
