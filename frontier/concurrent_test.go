package frontier

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestManyGoroutinesOneNewOneLease is a crawl in which each page links to many
// others under several spellings and many fetchers find them at once: each page
// is new to one of them, and leased to one of them.
func TestManyGoroutinesOneNewOneLease(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			s, err := b.open()
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			crawlConcurrently(t, openOn(t, s, Options{Delay: -1, MaxInFlight: 3}))
		})
	}
}

func crawlConcurrently(t *testing.T, f *Frontier) {
	const pages = 600
	var fresh [pages]atomic.Int32
	var fetched [pages]atomic.Int32
	offer := func(n int) {
		var urls []Link
		for _, spelling := range []string{"http://h%d.example/%d", "http://h%d.example:80/%d", "HTTP://H%d.example/%d#f"} {
			urls = append(urls, Link{URL: fmt.Sprintf(spelling, n%7, n)})
		}
		results, err := f.AddBatch(bg, urls)
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range results {
			if r.Status == StatusNew {
				fresh[n].Add(1)
			}
		}
	}
	offer(0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for l, err := range f.Leases(bg) {
				if err != nil {
					t.Error(err)
					return
				}
				var h, n int
				if _, err := fmt.Sscanf(l.URL, "http://h%d.example/%d", &h, &n); err != nil {
					t.Errorf("got %s; want the first spelling: %v", l.URL, err)
					return
				}
				fetched[n].Add(1)
				for _, link := range []int{2*n + 1, 2*n + 2, n / 2, (n * 7) % pages, (n + 1) % pages} {
					if link < pages {
						offer(link)
					}
				}
				if n%10 == 0 && l.Attempts == 1 {
					if _, err := f.Retry(bg, l, time.Unix(1, 0)); err != nil {
						t.Error(err)
					}
					fetched[n].Add(-1)
				} else if err := f.Done(bg, l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range pages {
		if a, b := fresh[n].Load(), fetched[n].Load(); a != 1 || b != 1 {
			t.Errorf("page %d: new %d times, fetched %d times; want 1 and 1", n, a, b)
		}
	}
}
