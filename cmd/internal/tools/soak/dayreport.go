//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
)

// dayReport is what a day was: its times, and what its journals say.
type dayReport struct {
	day      *day
	server   *measured.Server
	from, to time.Time // what counts

	cpu, fetcherCPU time.Duration
	killed          time.Time
	down            time.Duration // from the kill of the daemon until it was ready

	book     *book
	took     map[string][]int64 // µs of each call, by its name
	asked    map[string]int     // URLs of them
	failed   map[string]int     // calls
	outcomes map[string]string  // that were asked for, by token
	ended    map[string]bool    // tokens by which a page was done or dropped
}

func newDayReport(d *day, s *measured.Server) *dayReport {
	return &dayReport{day: d, server: s, book: newBook(dayDelay), took: map[string][]int64{}, asked: map[string]int{},
		failed: map[string]int{}, outcomes: map[string]string{}, ended: map[string]bool{}}
}

// take takes an entry of a journal.
func (r *dayReport) take(e entry) {
	r.book.take(&findings{}, e)
	switch {
	case (e.word == "took" || e.word == "failed") && len(e.fields) == 3 && e.at >= r.from.UnixNano() && e.at <= r.to.UnixNano():
		us, err := strconv.ParseInt(e.fields[1], 10, 64)
		n, err2 := strconv.Atoi(e.fields[2])
		if name := e.fields[0]; err != nil || err2 != nil { // cut by a kill
			return
		} else if e.word == "failed" {
			r.failed[name]++
		} else {
			r.took[name], r.asked[name] = append(r.took[name], us), r.asked[name]+n
		}
	case e.word == "settle" && len(e.fields) == 3:
		r.outcomes[e.fields[1]] = e.fields[2]
	case e.word == "settled" && len(e.fields) == 3 && e.fields[2] == "ok":
		o := r.outcomes[e.fields[1]]
		r.ended[e.fields[1]] = o == "done" || o == "drop"
	}
}

// print judges the journals, writes the report, and reports whether all held.
func (r *dayReport) print(ctx context.Context, out io.Writer) (bool, error) {
	if err := readJournals(filepath.Join(r.day.dir, "*.journal"), r.take); err != nil {
		return false, err
	}
	seconds := r.to.Sub(r.from).Seconds()
	pages, firstLease := 0, int64(0)
	for _, h := range r.book.handOuts {
		if h.at >= r.from.UnixNano() && h.at <= r.to.UnixNano() {
			pages++
		}
		if h.granted > r.killed.UnixNano() && (firstLease == 0 || h.at < firstLease) {
			firstLease = h.at
		}
	}
	p := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	p("\n| call | URLs/s | p50 ms | p99 ms | longest ms | failed |\n|---|---:|---:|---:|---:|---:|")
	for _, word := range []string{"offer", "lease", "done"} {
		all := r.took[word]
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		n := r.asked[word]
		if word == "lease" {
			n = pages
		}
		ms := func(i int) float64 { return float64(all[i]) / 1000 }
		p("| %s | %.0f | %.1f | %.1f | %.1f | %d |", word, float64(n)/seconds, ms(len(all)/2), ms(len(all)*99/100), ms(len(all)-1), r.failed[word])
	}
	p("\nDaemon: %.2f processors, %.1f s of processor a million pages with their %d offers each; %d MB of memory, %d MB of disk.",
		r.cpu.Seconds()/seconds, r.cpu.Seconds()/float64(max(pages, 1))*1e6, dayLinks, r.server.PeakMB(), measured.DiskMB(r.day.db()))
	p("Fetchers: %.2f processors. After kill -9: ready in %v, the first lease in %v.\n", r.fetcherCPU.Seconds()/(seconds+r.day.warm.Seconds()),
		r.down.Round(time.Millisecond), time.Duration(firstLease-r.killed.UnixNano()).Round(time.Millisecond))
	lost, err := offerAgain(ctx, newAPI(r.server.Addrs[0]), r.someNew(), r.day.web.url)
	if err != nil {
		return false, err
	}
	told := 0
	for _, n := range r.book.news {
		if n > 1 {
			told++
		}
	}
	twice, impolite := len(r.book.overlaps()), len(r.book.tooSoon(nil))
	ended, again := r.leasedAgain()
	p("Pages told new twice: %d. Leased twice at a time: %d; after they had ended: %d. Hosts before their delay: %d. Acknowledged and forgotten: %d. Leased again by right: %d of %d.",
		told, twice, ended, impolite, lost, again, len(r.book.handOuts))
	return told+twice+ended+impolite+lost == 0 && pages > 0, nil
}

// leasedAgain counts the leases of pages that had ended, and the others that are not the first of their page: after a retry,
// or since a fetcher was killed.
func (r *dayReport) leasedAgain() (ended, again int) {
	all := r.book.handOuts
	slices.SortFunc(all, func(x, y handOut) int { return cmp.Or(cmp.Compare(x.page, y.page), cmp.Compare(x.granted, y.granted)) })
	for i := 1; i < len(all); i++ {
		switch before := &all[i-1]; {
		case before.page != all[i].page:
		case r.ended[before.token]:
			ended++
		default:
			again++
		}
	}
	return ended, again
}

// someNew yields a hundred thousand of the pages that were told new.
func (r *dayReport) someNew() iter.Seq[int] {
	return func(yield func(int) bool) {
		left := 100_000
		for page := range r.book.news {
			if left--; left < 0 || !yield(page) {
				return
			}
		}
	}
}
