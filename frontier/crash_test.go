package frontier

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// The child of the crash tests is this test binary. Its environment makes it crawl in a directory and
// print each acknowledgement to standard output.
const (
	crashEnv = "FIRSTSEEN_TEST_CRASH_DIR"
	crashRun = "FIRSTSEEN_TEST_CRASH_RUN"
)

// crashChild runs the child if this process is one.
func crashChild() bool {
	dir := os.Getenv(crashEnv)
	if dir == "" {
		return false
	}
	work := func() error { return crashCrawl(dir, os.Getenv(crashRun)) }
	if n, err := strconv.Atoi(os.Getenv(fillEnv)); err == nil {
		work = func() error { return fillChild(dir, n) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// excludedHost is the host that the rules of a run exclude, page by page.
const excludedHost = "http://out.example/"

// crashCrawl adds, leases and settles, and excludes pages, until it is killed.
func crashCrawl(dir, run string) error {
	f, _, err := openCrash(dir)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		var urls []Link
		for j := range 20 {
			urls = append(urls, Link{URL: fmt.Sprintf("http://h%d.example/%s/%d/%d", j%5, run, i, j)})
		}
		results, err := f.AddBatch(bg, urls)
		if err != nil {
			return err
		}
		for j, r := range results {
			fmt.Println(r.Status, urls[j].URL)
		}
		leases, _, err := f.Lease(bg, LeaseRequest{Max: 4})
		if err != nil {
			return err
		}
		for _, l := range leases {
			fmt.Println("leased", l.URL)
		}
		for j, l := range leases {
			switch j {
			case 0:
				if err := f.Done(bg, l); err != nil {
					return err
				}
				fmt.Println("done", l.URL)
			case 1:
				if err := f.Drop(bg, l); err != nil {
					return err
				}
				fmt.Println("dropped", l.URL)
			case 2:
				fmt.Println("scheduling", l.URL)
				if err := f.Recrawl(bg, l, time.Now().Add(time.Hour)); err != nil {
					return err
				}
				fmt.Println("scheduled", l.URL)
			}
		}
		page := fmt.Sprintf("%s%s/%d/0", excludedHost, run, i)
		if _, err := f.Exclude(bg, "", page); err != nil {
			return err
		}
		fmt.Println("excluded", page)
	}
}

func openCrash(dir string) (*Frontier, *pebblestore.Store, error) {
	s, err := pebblestore.Open(dir, pebblestore.Options{KeepURLs: true})
	if err != nil {
		return nil, nil, err
	}
	f, err := New(s, Options{Delay: -1, MaxInFlight: -1, Lease: time.Hour})
	return f, s, err
}

// killed is what a child said before it was killed.
type killed struct{ added, leased, done, dropped, scheduling, scheduled, excluded []string }

// list returns the list of what a line says, or nil.
func (k *killed) list(what string) *[]string {
	return map[string]*[]string{"new": &k.added, "leased": &k.leased, "done": &k.done, "dropped": &k.dropped,
		"scheduling": &k.scheduling, "scheduled": &k.scheduled, "excluded": &k.excluded}[what]
}

// runAndKill starts a child and kills it with SIGKILL once it has said so many lines.
func runAndKill(t *testing.T, dir, run string, lines int) killed {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashEnv+"="+dir, crashRun+"="+run)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var k killed
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); n++ {
		if n == lines {
			must(t, cmd.Process.Kill())
		}
		what, url, ok := strings.Cut(sc.Text(), " ")
		if !ok || !strings.HasSuffix(url, "/") && strings.Count(url, "/") != 5 {
			continue // cut short by the kill
		}
		if list := k.list(what); list != nil {
			*list = append(*list, url)
		}
	}
	if err := cmd.Wait(); err == nil || len(k.added) == 0 {
		t.Fatalf("child ended with %v after %d URLs; want it killed at work", err, len(k.added))
	}
	return k
}

// TestKilledProcessLosesNothing repeatedly kills real processes that work on the same directory, and
// then checks that every acknowledgement was true.
func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	var all killed
	for run := range tortureCount(3, 100) {
		k := runAndKill(t, dir, fmt.Sprintf("run%d", run), 300+170*(run%7))
		for _, what := range []string{"new", "leased", "done", "dropped", "scheduling", "scheduled", "excluded"} {
			*all.list(what) = append(*all.list(what), *k.list(what)...)
		}
	}
	t.Logf("%d added, %d leased, %d done, %d dropped, %d scheduled, %d excluded",
		len(all.added), len(all.leased), len(all.done), len(all.dropped), len(all.scheduled), len(all.excluded))
	f, s, err := openCrash(dir)
	must(t, err)
	defer func() { must(t, errors.Join(f.Close(), s.Close())) }()
	state := checkStates(t, f, all)
	for _, u := range all.added {
		if r := addOne(t, f, Link{URL: u}); r.Status != StatusDuplicate {
			t.Errorf("%s: got %v; want duplicate, it was told new", u, r.Status)
		}
	}
	for _, u := range all.excluded {
		if r := addOne(t, f, Link{URL: u}); r.Reason != ReasonExcluded {
			t.Errorf("%s: got %v; want it excluded", u, r)
		}
	}
	checkNoneLeasedTwice(t, f, state)
}

// checkStates looks up every URL that a child printed. A child that died between a step and its
// output may have done one step more.
func checkStates(t *testing.T, f *Frontier, all killed) map[string]store.State {
	t.Helper()
	state := map[string]store.State{}
	least := map[string]store.State{}
	for _, u := range all.added {
		least[u] = store.Queued
	}
	for _, u := range all.leased {
		least[u] = store.Leased
	}
	for _, u := range all.done {
		least[u] = store.Done
	}
	for _, u := range all.dropped {
		least[u] = store.Dropped
	}
	for _, u := range all.scheduling {
		least[u] = store.Queued
	}
	for u, want := range least {
		e, err := f.Lookup(bg, Link{URL: u})
		if err != nil || e.State < want || e.URL != u {
			t.Errorf("%s: got state %v, URL %q, %v; want at least state %v", u, e.State, e.URL, err, want)
		}
		if slices.Contains(all.scheduled, u) && (e.State != store.Queued || time.Until(e.Due) < 30*time.Minute) {
			t.Errorf("%s: got state %v, due %v; want it queued for an hour later", u, e.State, e.Due)
		}
		if e.State == store.Queued && e.Due.After(time.Now()) {
			e.State = store.Leased // as such it is out of reach for its hour
		}
		state[u] = e.State
	}
	return state
}

// checkNoneLeasedTwice drains the queues: what a killed child had leased stays
// leased for its hour, all else comes once, in each host's order.
func checkNoneLeasedTwice(t *testing.T, f *Frontier, state map[string]store.State) {
	t.Helper()
	got := map[string]bool{}
	for {
		leases, _, err := f.Lease(bg, LeaseRequest{Max: 50})
		must(t, err)
		if len(leases) == 0 {
			break
		}
		for _, l := range leases {
			if got[l.URL] || state[l.URL] == store.Leased || state[l.URL] == store.Done {
				t.Errorf("%s handed out in state %v, before: %v; want it once, and not while it is leased", l.URL, state[l.URL], got[l.URL])
			}
			got[l.URL] = true
			must(t, f.Done(bg, l))
		}
	}
	for u, s := range state {
		if s == store.Queued && !got[u] {
			t.Errorf("%s was queued and never handed out", u)
		}
	}
}
