//go:build unix

package evidence

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/captures"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// BenchmarkDone settles leases as a daemon does, and reports the processor time of a URL: with
// nothing reported of its fetch, with a digest, with declarations as well, with declarations of a
// trusted host, and with traps by yield.
func BenchmarkDone(b *testing.B) {
	const batch = 100
	for _, c := range []struct {
		name                          string
		digest, declare, trust, yield bool
	}{
		{name: "nothing"}, {name: "digest", digest: true}, {name: "declarations", digest: true, declare: true},
		{name: "trusted", digest: true, declare: true, trust: true}, {name: "yield", digest: true, declare: true, yield: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := openDaemon(b, c.trust, c.yield)
			var cpu time.Duration
			for done := 0; done < b.N; done += batch {
				b.StopTimer()
				settlements := leaseBatch(b, f, done, batch)
				for i := range settlements {
					l := settlements[i].Lease
					if c.digest {
						settlements[i].Fetched = &frontier.Fetched{Status: 200, Digest: fmt.Sprintf("sha1:%040d", done+i)}
					}
					if c.declare {
						settlements[i].Fetched.Canonical, settlements[i].Fetched.NoVarySearch = l.URL, `params=("utm_source" "ref")`
					}
				}
				b.StartTimer()
				before := cpuTime()
				if _, err := f.Settle(b.Context(), settlements); err != nil {
					b.Fatal(err)
				}
				cpu += cpuTime() - before
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/URL")
		})
	}
}

// BenchmarkOffer counts fetches with declarations, which is what traps by yield add to Done.
func BenchmarkOffer(b *testing.B) {
	table := New(Options{Traps: LowerTraps})
	fetches := make([]frontier.Fetched, 200_000) // more contents than the table has places, so that each is new
	for i := range fetches {
		url := fmt.Sprintf("https://www.host-%03d.example/articles/2026/%08x?id=%d", i%100, i, i)
		fetches[i] = frontier.Fetched{URL: url, Status: 200, Digest: fmt.Sprintf("sha1:%040d", i), Canonical: url}
	}
	b.ReportAllocs()
	before, i := cpuTime(), 0
	for b.Loop() {
		table.Offer(&fetches[i%len(fetches)])
		i++
	}
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/URL")
}

// openDaemon returns a frontier with what serve does with fetches.
func openDaemon(b *testing.B, trusting, yields bool) *frontier.Frontier {
	b.Helper()
	s, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	sample, err := captures.Open(b.TempDir(), captures.Options{})
	if err != nil {
		b.Fatal(err)
	}
	opt := Options{Captures: sample}
	if yields {
		opt.Traps = LowerTraps
	}
	learned := New(opt)
	if trusting {
		if err := learned.SetRules(canon.Qiita(), canon.Qiita(), []byte(`{"trust_declared": ["*"]}`)); err != nil {
			b.Fatal(err)
		}
	}
	f, err := frontier.New(s, frontier.Options{Delay: -1, MaxInFlight: -1, OnFetched: func(f frontier.Fetched) { learned.Offer(&f) }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, end := range []func() error{f.Close, sample.Close, s.Close} {
			if err := end(); err != nil {
				b.Error(err)
			}
		}
	})
	return f
}

// leaseBatch adds n URLs and leases as many.
func leaseBatch(b *testing.B, f *frontier.Frontier, from, n int) []frontier.Settlement {
	b.Helper()
	links := make([]frontier.Link, n)
	for i := range links {
		links[i].URL = fmt.Sprintf("https://www.host-%03d.example/articles/2026/%08x?id=%d", i, from+i, from+i)
	}
	if _, err := f.AddBatch(b.Context(), links); err != nil {
		b.Fatal(err)
	}
	leases, _, err := f.Lease(b.Context(), frontier.LeaseRequest{Max: n})
	if err != nil {
		b.Fatal(err)
	}
	settlements := make([]frontier.Settlement, len(leases))
	for i, l := range leases {
		settlements[i].Lease = l
	}
	return settlements
}

// cpuTime is what this process used so far, in user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
