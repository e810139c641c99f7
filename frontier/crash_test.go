package frontier

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The child of the crash tests is this test binary, told by its environment to
// crawl in a directory and to say on standard output what was acknowledged.
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
	if err := crashCrawl(dir, os.Getenv(crashRun)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// crashCrawl adds, leases and settles until it is killed.
func crashCrawl(dir, run string) error {
	f, err := Open(crashOptions(dir))
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		var urls []URL
		for j := range 20 {
			urls = append(urls, URL{URL: fmt.Sprintf("http://h%d.example/%s/%d/%d", j%5, run, i, j)})
		}
		results, err := f.AddBatch(bg, urls)
		if err != nil {
			return err
		}
		for j, r := range results {
			fmt.Println(r.Status, urls[j].URL)
		}
		leases, err := f.Lease(bg, 4)
		if err != nil {
			return err
		}
		for _, l := range leases {
			fmt.Println("leased", l.URL)
		}
		for _, l := range leases[:len(leases)/2] {
			if err := f.Done(bg, l); err != nil {
				return err
			}
			fmt.Println("done", l.URL)
		}
	}
}

func crashOptions(dir string) Options {
	return Options{Dir: dir, Delay: -1, MaxInFlight: -1, Lease: time.Hour, KeepURLs: true}
}

// killed is what a child said before it was killed.
type killed struct{ added, leased, done []string }

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
		switch what {
		case "new":
			k.added = append(k.added, url)
		case "leased":
			k.leased = append(k.leased, url)
		case "done":
			k.done = append(k.done, url)
		}
	}
	if err := cmd.Wait(); err == nil || len(k.added) == 0 {
		t.Fatalf("child ended with %v after %d URLs; want it killed at work", err, len(k.added))
	}
	return k
}
