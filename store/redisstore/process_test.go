package redisstore

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// daemonDoes tells a process of this test binary, with TestDaemonProcess alone, that it is a daemon: address | prefix
const daemonDoes = "FIRSTSEEN_TEST_DAEMON"

// TestDaemonProcess is what a daemon process runs.
func TestDaemonProcess(t *testing.T) {
	addr, prefix, found := strings.Cut(os.Getenv(daemonDoes), "|")
	if !found {
		t.Skip("runs in a process that another test starts")
	}
	s := open(t, Options{Addrs: []string{addr}, Prefix: prefix, Replicas: -1, KeepURLs: true, RetryFor: hang.Limit})
	for n := 1; ; n += 2 {
		workAround(t, s, n, func(line string) { fmt.Println(line) })
		_ = async.Sleep(t.Context(), 20*time.Millisecond)
	}
}

const daemonItem = 40

func daemonItems(from, to int) (items []store.Item) {
	for n := from; n < to; n++ {
		items = append(items, testItem(n, fmt.Sprint("q", n%3)))
	}
	return items
}

// operations are those of several scripts. They find 20 URLs, of which 10 are completed.
var operations = map[string]func(t *testing.T, s *Store) error{
	"add": func(t *testing.T, s *Store) error {
		_, err := s.Add(t.Context(), "c", daemonItems(10, 30), store.AddOptions{})
		return err
	},
	"add with a cap": func(t *testing.T, s *Store) error {
		_, err := s.Add(t.Context(), "c", daemonItems(10, 40), store.AddOptions{MaxPerQueue: 8})
		return err
	},
	"force": func(t *testing.T, s *Store) error {
		items := daemonItems(0, 30)
		for i := range items {
			items[i].Force, items[i].Queue = true, "q0"
		}
		_, err := s.Add(t.Context(), "c", items, store.AddOptions{})
		return err
	},
	"ask for again": func(t *testing.T, s *Store) error {
		items := daemonItems(0, 30)
		for i := range items {
			items[i].EndedBefore, items[i].Queue = time.Now().Add(time.Hour), "q0"
		}
		_, err := s.Add(t.Context(), "c", items, store.AddOptions{})
		return err
	},
	"mark and respell": func(t *testing.T, s *Store) error {
		var list []store.Settlement
		items := daemonItems(10, 30)
		for i := range items {
			list = append(list, store.Settlement{Key: items[i].Key, Outcome: store.Drop, Failed: true, Mark: store.Spelling(items[i].URL)})
			items[i].URL, items[i].Variant, items[i].Queue = items[i].URL+"/.", true, "q0"
		}
		_, err := s.Settle(t.Context(), "c", list)
		_, failed := s.Add(t.Context(), "c", items, store.AddOptions{MaxPerQueue: 8})
		return errors.Join(err, failed)
	},
	"begin new rounds": func(t *testing.T, s *Store) error {
		var list []store.Settlement
		for _, it := range daemonItems(0, 30) {
			list = append(list, store.Settlement{Key: it.Key, Outcome: store.Requeue, NewRound: true, After: time.Hour})
		}
		_, err := s.Settle(t.Context(), "c", list)
		return err
	},
	"create": func(t *testing.T, s *Store) error {
		var list []store.Settlement
		for _, it := range daemonItems(15, 30) {
			list = append(list, store.Settlement{Key: it.Key, Create: true, Queue: it.Queue, URL: it.URL, Outcome: store.Requeue})
		}
		_, err := s.Settle(t.Context(), "c", list)
		return err
	},
	"forget keys": func(t *testing.T, s *Store) error {
		_, err := s.Forget(t.Context(), store.Selection{Crawl: "c", Keys: keysOf(daemonItems(5, 15))})
		return err
	},
	"forget by age": func(t *testing.T, s *Store) error {
		_, err := s.Forget(t.Context(), store.Selection{Crawl: "c", Before: time.Now().Add(100 * day)})
		return err
	},
	"delete a queue": func(t *testing.T, s *Store) error {
		_, err := s.Forget(t.Context(), store.Selection{Crawl: "c", Queue: "q1"})
		return err
	},
	"take and complete": func(t *testing.T, s *Store) error {
		taken, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 4, Lease: time.Millisecond})
		for _, l := range taken.Leases {
			_, failed := s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token}})
			err = errors.Join(err, failed)
		}
		return err
	},
}

// dies has a daemon carry out an operation, of which it sends only so many script calls, as if its process were killed before the next. It
// reports whether that was all.
func dies(t *testing.T, o Options, operation func(*testing.T, *Store) error, number int) (done bool) {
	calls, counting := 0, false
	o.clock = func() time.Time { // asked before each script call, by the goroutine of the operation
		if calls++; counting && calls > number {
			runtime.Goexit()
		}
		return time.Now()
	}
	s := open(t, o)
	s.stop() // the sweeper's calls would be counted
	s.background.Wait()
	calls, counting = 0, true
	ended := make(chan error)
	go func() {
		defer close(ended)
		ended <- operation(t, s)
	}()
	err, done := <-ended
	must(true, err)(t)
	closeAll(t, s)
	return done
}

// TestADaemonDiesAtEachStep ends a daemon before each script call of each operation that has several. Another
// daemon finishes the steps that it left: counters are right, and every known URL is in a queue or completed, once.
func TestADaemonDiesAtEachStep(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			for number, done := 0, false; !done; number++ {
				o := testOptions(addr, 4)
				o.KeepURLs = true
				s := open(t, o)
				must(s.Add(t.Context(), "c", daemonItems(0, 10), store.AddOptions{}))(t)
				complete(t, s, must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 20, MaxPerQueue: 20}))(t).Leases)
				must(s.Add(t.Context(), "c", daemonItems(10, 20), store.AddOptions{}))(t)
				done = dies(t, o, operation, number)
				for range 2 {
					must(true, s.sweep(t.Context(), 0))(t)
				}
				consistent(t, s, number)
				for range 2 { // unknown URLs are queued, known ones stay
					must(s.Add(t.Context(), "c", daemonItems(0, daemonItem), store.AddOptions{}))(t)
				}
				consistent(t, s, number)
				if st := must(s.Stats(t.Context(), "c"))(t); st.Marked < st.Dropped {
					t.Fatalf("after %d calls: got %+v; want a mark of each URL that was not found, or its page is lost", number, st)
				}
				times := map[store.Key]int{}
				for e, err := range s.Entries(t.Context(), "c", "") {
					must(true, err)(t)
					times[e.Key]++
				}
				for _, it := range daemonItems(0, daemonItem) {
					if times[it.Key] != 1 {
						t.Fatalf("after %d calls: %s is listed %d times; want once", number, it.URL, times[it.Key])
					}
				}
				closeAll(t, s)
			}
		})
	}
}

// workAround adds some URLs, takes some and completes them, and reports each acknowledgement: "new", "leased" between two
// times, or "completed" before a time, and the key.
func workAround(t *testing.T, s *Store, n int, tell func(line string)) {
	items := daemonItems(n*5, n*5+15)
	got, err := s.Add(t.Context(), "c", items, store.AddOptions{MaxPerQueue: 10_000})
	for i, v := range got {
		if v.Status == store.New {
			tell(fmt.Sprintf("new %x", items[i].Key))
		}
	}
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		tell("error " + err.Error())
	}
	began := time.Now()
	taken, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 10, Lease: 2 * time.Second})
	ended := time.Now()
	if err != nil {
		return
	}
	for i, l := range taken.Leases {
		tell(fmt.Sprintf("leased %x %d %d", l.Key, began.UnixMilli(), ended.UnixMilli()))
		if i%5 == 4 {
			continue // its fetcher dies
		}
		got, err := s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token}})
		if err == nil && got[0] == store.Settled {
			tell(fmt.Sprintf("completed %x %d", l.Key, time.Now().UnixMilli()))
		}
	}
}

// TestADaemonIsStopped stops a daemon process in the middle of its work, for 3 s or, in the torture, for 60, while another
// works, and lets it continue. Nothing is new twice, leased twice within a lease or fetched again after it was completed.
func TestADaemonIsStopped(t *testing.T) {
	t.Parallel()
	stopped := 3 * time.Second
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		stopped = time.Minute
	}
	o := testOptions(sharedServer(t), 4)
	o.KeepURLs, o.RetryFor = true, time.Second
	s := open(t, o)
	defer s.Close()
	var mu sync.Mutex
	news, completed, leases := map[string]int{}, map[string]int64{}, map[string][2]int64{}
	tell := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		what, rest, _ := strings.Cut(line, " ")
		key, times, _ := strings.Cut(rest, " ")
		switch what {
		case "new":
			if news[key]++; news[key] > 1 {
				t.Errorf("%s is new twice", key)
			}
		case "leased":
			var began, ended int64
			must(fmt.Sscan(times, &began, &ended))(t)
			// A daemon that is stopped reports late: only a lease that surely came after another event counts.
			if at := completed[key]; at > 0 && began > at {
				t.Errorf("%s is leased again after it was completed", key)
			}
			last := leases[key]
			if began > last[1] && ended < last[0]+2000 && completed[key] == 0 {
				t.Errorf("%s is leased twice within a lease", key)
			}
			if began > last[0] {
				leases[key] = [2]int64{began, ended}
			}
		case "completed":
			completed[key] = must(strconv.ParseInt(times, 10, 64))(t)
		case "error":
			t.Error(line)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDaemonProcess$")
	cmd.Env = append(os.Environ(), daemonDoes+"="+o.Addrs[0]+"|"+o.Prefix)
	out := bufio.NewScanner(must(cmd.StdoutPipe())(t))
	must(true, cmd.Start())(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for out.Scan() {
			tell(out.Text())
		}
	})
	n := 0
	work := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); n += 2 {
			workAround(t, s, n, tell)
			time.Sleep(20 * time.Millisecond)
		}
	}
	work(time.Second)
	must(true, cmd.Process.Signal(syscall.SIGSTOP))(t)
	work(stopped)
	must(true, cmd.Process.Signal(syscall.SIGCONT))(t)
	work(2 * time.Second)
	must(true, cmd.Process.Kill())(t)
	_ = cmd.Wait() // it was killed
	wg.Wait()
	for end := time.Now().Add(hang.Limit); ; {
		workAround(t, s, 0, tell)
		st := must(s.Stats(t.Context(), "c"))(t)
		if st.Held == 0 {
			t.Logf("%d URLs new, %d completed", len(news), st.Completed)
			if st.Completed != st.Seen || st.InFlight != 0 || st.Active != 0 || len(leases) < len(news) {
				t.Errorf("got %+v and %d URLs handed out; want all of %d completed, once", st, len(leases), len(news))
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %+v; want everything drained", st)
		}
	}
}
