package frontier

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// fillEnv makes a child queue this number of URLs, report it, and wait to be killed.
const fillEnv = "FIRSTSEEN_TEST_FILL"

func fillChild(dir string, n int) error {
	f, _, err := openCrash(dir)
	if err != nil {
		return err
	}
	const batch = 10_000
	for i := 0; i < n; i += batch {
		urls := make([]Link, 0, batch)
		for j := i; j < min(i+batch, n); j++ {
			urls = append(urls, Link{URL: fillURL(j)})
		}
		if _, err := f.AddBatch(bg, urls); err != nil {
			return err
		}
	}
	fmt.Println("filled")
	select {}
}

// fillURL is the i-th URL of the child, of 63 bytes, evenly over the hosts.
func fillURL(i int) string {
	return fmt.Sprintf("https://www.host-%05d.example/articles/2026/%08x-some-title.html", i%count("FIRSTSEEN_BENCH_HOSTS", 10_000), i)
}

// BenchmarkRestart measures the time from a frontier with queued URLs, whose
// process was killed by kill -9 directly after loading, to its first lease and,
// as ms-to-add, to its first answer to an offer, which needs the seen URLs in
// memory. The long forms are FIRSTSEEN_BENCH_QUEUED=5000000, and as many FIRSTSEEN_BENCH_HOSTS. It also reports the
// bytes on disk and in memory of a queued URL, whose text is 63 bytes.
func BenchmarkRestart(b *testing.B) {
	n := count("FIRSTSEEN_BENCH_QUEUED", 200_000)
	b.Run(fmt.Sprintf("pebblestore/queued=%d", n), func(b *testing.B) {
		var disk, heap, add float64
		var cpu time.Duration
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			fillAndKill(b, dir, n)
			before, used := heapBytes(), cpuTime()
			begun := time.Now()
			b.StartTimer()
			f, s, err := openCrash(dir)
			must(b, err)
			leaseOne(b, f)
			b.StopTimer()
			cpu += cpuTime() - used
			if r := addOne(b, f, Link{URL: fillURL(0)}); r.Status != StatusDuplicate {
				b.Errorf("got %v for a URL that was queued before the kill; want duplicate", r.Status)
			}
			add += time.Since(begun).Seconds()
			heap += heapBytes() - before
			must(b, f.Close())
			must(b, s.Close())
			disk += dirBytes(b, dir)
			b.StartTimer()
		}
		b.ReportMetric(disk/float64(b.N)/float64(n), "disk-B/URL")
		b.ReportMetric(heap/float64(b.N)/float64(n), "heap-B/URL")
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms-to-lease")
		b.ReportMetric(1000*add/float64(b.N), "ms-to-add")
		b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms")
	})
}

func fillAndKill(b *testing.B, dir string, n int) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashEnv+"="+dir, fillEnv+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "filled" {
		b.Fatalf("got %q from the child; want it to fill its store", said.Text())
	}
	must(b, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it was meant to be
}

func heapBytes() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func dirBytes(b *testing.B, dir string) float64 {
	b.Helper()
	var sum int64
	must(b, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		return nil
	}))
	return float64(sum)
}

// BenchmarkIdleQueue reports the memory of queues with a URL that is due tomorrow, and of empty
// queues.
func BenchmarkIdleQueue(b *testing.B) {
	n := count("FIRSTSEEN_BENCH_QUEUES", 100_000)
	for _, kind := range benchStores {
		for _, what := range []string{"waiting", "empty"} {
			b.Run(fmt.Sprintf("%s/%s=%d", kind, what, n), func(b *testing.B) {
				var heap float64
				for b.Loop() {
					f := openBench(b, kind, Options{})
					before := heapBytes()
					next := time.Time{}
					if what == "waiting" {
						next = time.Now().Add(24 * time.Hour)
					}
					putHosts(b, f, n, next)
					heap += heapBytes() - before
					must(b, f.Close())
				}
				b.ReportMetric(heap/float64(b.N)/float64(n), "heap-B/queue")
			})
		}
	}
}

func putHosts(b *testing.B, f *Frontier, n int, next time.Time) {
	b.Helper()
	known := make([]Known, 0, 10_000)
	for i := range n {
		known = append(known, Known{Link: Link{URL: fmt.Sprintf("https://host-%07d.example/", i)}, Next: next})
		if len(known) == cap(known) || i == n-1 {
			if _, err := f.Put(bg, known); err != nil {
				b.Fatal(err)
			}
			known = known[:0]
		}
	}
}
