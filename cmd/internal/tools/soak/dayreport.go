//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

	took     map[string][]int64 // µs of each call, by its word
	asked    map[string]int     // URLs of them
	news     map[int]int
	got      []handOut
	ended    map[string]int64 // token to when a result that ends a page was accepted
	firstGot int64            // after the kill
}

// take takes an entry of a journal.
func (r *dayReport) take(e entry) {
	number := func(i int) int64 {
		if i >= len(e.fields) {
			return 0
		}
		n, _ := strconv.ParseInt(e.fields[i], 10, 64) // 0 for none
		return n
	}
	switch e.word {
	case "offer", "lease", "done", "failed-offer", "failed-lease", "failed-done":
		if e.at >= r.from.UnixNano() && e.at <= r.to.UnixNano() {
			r.took[e.word] = append(r.took[e.word], number(0))
			r.asked[e.word] += int(number(1))
		}
	case "new":
		r.news[int(number(0))]++
	case "got":
		if len(e.fields) == 4 {
			expires := number(3)
			h := handOut{at: e.at, granted: expires - int64(dayLease), expires: expires, page: int(number(0)), token: e.fields[1], queue: e.fields[2]}
			r.got = append(r.got, h)
			if h.granted > r.killed.UnixNano() && (r.firstGot == 0 || h.at < r.firstGot) {
				r.firstGot = h.at
			}
		}
	case "settled":
		if len(e.fields) == 3 && e.fields[2] != "retry" {
			r.ended[e.fields[1]] = e.at
		}
	}
}

// print judges the journals, writes the report, and reports whether all held.
func (r *dayReport) print(ctx context.Context, out io.Writer) (bool, error) {
	r.took, r.asked, r.news, r.ended = map[string][]int64{}, map[string]int{}, map[int]int{}, map[string]int64{}
	if err := readJournals(filepath.Join(r.day.dir, "*.journal"), r.take); err != nil {
		return false, err
	}
	seconds := r.to.Sub(r.from).Seconds()
	pages := 0
	for _, h := range r.got {
		if h.at >= r.from.UnixNano() && h.at <= r.to.UnixNano() {
			pages++
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
		p("| %s | %.0f | %.1f | %.1f | %.1f | %d |", word, float64(n)/seconds, ms(len(all)/2), ms(len(all)*99/100), ms(len(all)-1), len(r.took["failed-"+word]))
	}
	p("\nDaemon: %.2f processors, %.1f s of processor a million pages with their %d offers each; %d MB of memory, %d MB of disk.",
		r.cpu.Seconds()/seconds, r.cpu.Seconds()/float64(max(pages, 1))*1e6, dayLinks, r.server.PeakMB(), measured.DiskMB(r.day.db()))
	p("Fetchers: %.2f processors. After kill -9: ready in %v, the first lease in %v.\n", r.fetcherCPU.Seconds()/(seconds+r.day.warm.Seconds()),
		r.down.Round(time.Millisecond), time.Duration(r.firstGot-r.killed.UnixNano()).Round(time.Millisecond))
	lost, err := r.lost(ctx)
	if err != nil {
		return false, err
	}
	twice, impolite, again := r.judge()
	told := 0
	for _, n := range r.news {
		if n > 1 {
			told++
		}
	}
	p("Pages told new twice: %d. Leased while a lease of them ran, or after they had ended: %d. Hosts before their delay: %d. Acknowledged and forgotten: %d. Leased again since a fetcher was killed or failed: %d of %d.",
		told, twice, impolite, lost, again, len(r.got))
	return told+twice+impolite+lost == 0 && pages > 0, nil
}

// judge counts the leases of pages that were leased or had ended, those of hosts before their delay, and those that were right,
// but not the first of their page.
func (r *dayReport) judge() (twice, impolite, again int) {
	slices.SortFunc(r.got, func(x, y handOut) int { return cmp.Or(cmp.Compare(x.page, y.page), cmp.Compare(x.granted, y.granted)) })
	for i := 1; i < len(r.got); i++ {
		before, h := &r.got[i-1], &r.got[i]
		if before.page != h.page || before.token == h.token {
			continue
		}
		_, ended := r.ended[before.token]
		again++
		if ended || h.granted < min(before.expires, before.granted+int64(10*time.Second))-jitter { // a retry waits for ten seconds
			twice++
		}
	}
	slices.SortFunc(r.got, func(x, y handOut) int {
		return cmp.Or(cmp.Compare(x.queue, y.queue), cmp.Compare(x.granted, y.granted))
	})
	for i := 1; i < len(r.got); i++ {
		if x, y := &r.got[i-1], &r.got[i]; x.queue == y.queue && y.granted-x.granted < int64(time.Second)-jitter {
			impolite++
		}
	}
	return twice, impolite, again
}

// lost offers up to a hundred thousand pages again that were told new, and returns how many are told new once more.
func (r *dayReport) lost(ctx context.Context) (lost int, err error) {
	a := newAPI(r.server.Addrs[0])
	var urls []offered
	offer := func() error {
		verdicts, err := a.offer(ctx, urls)
		for _, v := range verdicts {
			if v.Verdict != "duplicate" {
				lost++
			}
		}
		urls = urls[:0]
		return err
	}
	left := 100_000
	for page := range r.news {
		if left--; left < 0 {
			break
		}
		if urls = append(urls, offered{URL: r.day.web.url(page), ID: strconv.Itoa(page)}); len(urls) == 1000 {
			if err := offer(); err != nil {
				return lost, err
			}
		}
	}
	return lost, offer()
}
