package main

import (
	"crypto/sha256"
	"net/url"
	"runtime"
	"slices"
	"syscall"

	"github.com/PuerkitoBio/purell"
	"github.com/firstseen/firstseen/canon"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// result is what one rival took: nanoseconds of CPU time per URL, and URLs refused.
type result struct {
	name    string
	nanos   []float64 // one per round, or the median alone
	refused int
}

// rival canonicalizes one URL, given as bytes and as a string, and reports whether it succeeded.
type rival struct {
	name string
	work func(raw string, bytes []byte) bool
}

// ours is the row that the others are divided by.
const ours = "firstseen canon: qiita, into a buffer"

// nearest are the purell flags that come nearest to the qiita profile.
const nearest = purell.FlagsSafe | purell.FlagRemoveDotSegments | purell.FlagRemoveDuplicateSlashes |
	purell.FlagSortQuery | purell.FlagRemoveEmptyPortSeparator | purell.FlagRemoveFragment

func goRivals() []rival {
	p := canon.Qiita()
	var dst []byte
	appended := func(_ string, raw []byte) (ok bool) {
		var err error
		dst, err = p.AppendCanonical(dst[:0], raw)
		return err == nil
	}
	return []rival{
		{ours, appended},
		{"firstseen canon: qiita, into a buffer, and SHA-256", func(s string, raw []byte) bool {
			ok := appended(s, raw)
			sum := sha256.Sum256(dst)
			return ok && sum != [sha256.Size]byte{}
		}},
		{"firstseen canon: qiita, string to string", func(s string, _ []byte) bool {
			_, err := p.Canonicalize(s)
			return err == nil
		}},
		{"Go net/url: Parse, String", func(s string, _ []byte) bool {
			u, err := url.Parse(s)
			return err == nil && u.String() != ""
		}},
		{"Go purell: flags nearest to qiita", func(s string, _ []byte) bool {
			_, err := purell.NormalizeURLString(s, nearest)
			return err == nil
		}},
		{"Go nlnwa/whatwg-url: Parse, Href", func(s string, _ []byte) bool {
			u, err := whatwg.Parse(s)
			return err == nil && u.Href(false) != ""
		}},
	}
}

// timeGo goes over the URLs with each rival, all rounds in a row, as the others do.
func timeGo(urls []string, rounds int) []result {
	rivals := goRivals()
	results := make([]result, len(rivals))
	raws := make([][]byte, len(urls))
	for i, u := range urls {
		raws[i] = []byte(u)
	}
	for i, r := range rivals {
		runtime.GC() // no rival pays for the garbage of the one before
		results[i] = result{name: r.name}
		for range rounds {
			results[i].round(r, urls, raws)
		}
	}
	return results
}

func (r *result) round(of rival, urls []string, raws [][]byte) {
	r.refused = 0
	start := cpuNanos()
	for k, u := range urls {
		if !of.work(u, raws[k]) {
			r.refused++
		}
	}
	r.nanos = append(r.nanos, float64(cpuNanos()-start)/float64(len(urls)))
}

func cpuNanos() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // no clock, no benchmark
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

// merge puts the rounds of one name together, in the order of first appearance.
func merge(results []result) (merged []result) {
	for _, r := range results {
		i := slices.IndexFunc(merged, func(m result) bool { return m.name == r.name })
		if i < 0 {
			merged = append(merged, r)
			continue
		}
		merged[i].nanos = append(merged[i].nanos, r.nanos...)
	}
	return merged
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
