package redisstore_test

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store/redisstore"
)

// BenchmarkIdle measures what a cluster of three masters and three replicas and one daemon cost while nothing happens, without and
// with 100 fetchers that wait for URLs, in percent of a processor.
func BenchmarkIdle(b *testing.B) {
	const length = 10 * time.Second
	c := rediscluster.New(b, 3, 1)
	s, err := redisstore.Open(b.Context(), redisstore.Options{Addrs: c.Addrs(), Replicas: 1})
	if err != nil {
		b.Fatal(err)
	}
	f, err := frontier.New(s, frontier.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	servers := func() (seconds float64) {
		for _, n := range c.Nodes {
			info, err := n.Info(b.Context(), "cpu")
			if err != nil {
				b.Fatal(err)
			}
			for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
				v, err := strconv.ParseFloat(info[field], 64)
				if err != nil {
					b.Fatal(err)
				}
				seconds += v
			}
		}
		return seconds
	}
	self := func() float64 {
		var ru syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
			b.Fatal(err)
		}
		return float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
	}
	for _, fetchers := range []int{0, 100} {
		for range fetchers {
			go func() { _, _, _ = f.LeaseWait(b.Context(), frontier.LeaseRequest{}, false) }()
		}
		time.Sleep(3 * time.Second)
		serversBefore, before := servers(), self()
		time.Sleep(length)
		name := "-" + strconv.Itoa(fetchers) + "-fetchers"
		b.ReportMetric(100*(servers()-serversBefore)/length.Seconds(), "%servers"+name)
		b.ReportMetric(100*(self()-before)/length.Seconds(), "%daemon"+name)
	}
}
