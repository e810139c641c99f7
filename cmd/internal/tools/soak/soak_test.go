//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// second is a time of the journals below, in seconds after a start.
func second(s float64) int64 { return int64(1e18) + int64(s*1e9) }

func line(at float64, text string, args ...any) string {
	return fmt.Sprintf("%d ", second(at)) + fmt.Sprintf(text, args...) + "\n"
}

// granted is the line of a lease that was granted, by the daemon's clock, when the fetcher got it.
func granted(at float64, page int, token, queue string) string {
	return line(at, "lease %d %s %s %d", page, token, queue, second(at)+int64(leaseTime))
}

// TestJudge plants each fault into a journal that is otherwise sound.
func TestJudge(t *testing.T) {
	sound := line(0, "new 1 false") + line(0, "new 2 false") + line(1, "duplicate 1 false") +
		granted(2, 1, "t1", "a") + line(2.1, "settle 1 t1 recrawl") + line(2.2, "settled 1 t1 ok") +
		granted(3, 1, "t2", "a") + line(3.1, "settle 1 t2 done") + line(3.1, "settled 1 t2 ok") +
		granted(2, 2, "t3", "b") + granted(63, 2, "t4", "b") + line(64, "settle 2 t4 drop")
	for _, c := range []struct{ name, more, want string }{
		{"sound", "", "0 0 0 0"},
		{"cut by a kill", fmt.Sprint(second(9))[:7], "0 0 0 0"},
		{"told new twice", line(5, "new 1 false"), "1 0 0 0"},
		{"never settled", line(5, "new 3 false") + granted(6, 3, "t5", "c"), "0 1 0 0"},
		{"given up is settled", line(5, "new 3 false") + granted(6, 3, "t5", "c") + line(7, "settle 3 t5 retry") + line(7, "settled 3 t5 gave-up"), "0 0 0 0"},
		{"leased twice", granted(5, 4, "t5", "c") + granted(64.9, 4, "t6", "c"), "0 0 1 0"},
		{"leased again when it ran out", granted(5, 4, "t5", "c") + granted(65.1, 4, "t6", "c"), "0 0 0 0"},
		{"host too soon", granted(5, 4, "t5", "c") + granted(5.19, 5, "t6", "c"), "0 0 0 1"},
		{"host in time", granted(5, 4, "t5", "c") + granted(5.2, 5, "t6", "c"), "0 0 0 0"},
		{"another host", granted(5, 4, "t5", "c") + granted(5.1, 5, "t6", "d"), "0 0 0 0"},
		{"the clock stepped between", granted(100, 4, "t5", "c") + granted(100.1, 5, "t6", "c"), "0 0 0 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, text := range []string{sound, c.more} {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".journal")), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := judge(filepath.Join(dir, "*.journal"), []step{{second(100), time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(len(f.twiceNew), len(f.lost), len(f.twiceLeased), len(f.impolite)); got != c.want {
				t.Errorf("got %s new twice, lost, leased twice, impolite; want %s", got, c.want)
			}
		})
	}
}

// TestGrown distinguishes a daemon that grows without faults from one that does not.
func TestGrown(t *testing.T) {
	for _, c := range []struct {
		each float64
		want bool
	}{{0, true}, {1 << 20, false}} {
		w := &watch{}
		for i := range 100 {
			w.samples = append(w.samples, map[string]float64{"go_memstats_heap_inuse_bytes": 20<<20 + float64(i)*c.each})
			if i == 9 {
				w.calm()
			}
		}
		if got := w.grown()[0]; got.ok != c.want {
			t.Errorf("%v a sample: got %v, %v; want %v", c.each, got, got.ok, c.want)
		}
	}
}

func TestPages(t *testing.T) {
	for page := range 30 {
		for _, text := range []string{"http://" + hostOf(page) + fmt.Sprintf("/d/%d?a=1", page), fmt.Sprintf("HTTP://H//d/%d?b", page)} {
			if got := pageOf(text); got != page {
				t.Errorf("%s: got page %d; want %d", text, got, page)
			}
		}
	}
	if got := pageOf("http://h/x"); got != -1 || !strings.HasPrefix(hostOf(1), "h1.") {
		t.Errorf("got page %d; want none", got)
	}
}

// TestWorldThatFailsLeavesNoDisk starts a daemon that does not exist. It needs the right to mount a
// disk.
func TestWorldThatFailsLeavesNoDisk(t *testing.T) {
	o := &options{dir: t.TempDir(), binary: filepath.Join(t.TempDir(), "none"), diskMiB: 1}
	if _, err := newWorld(t.Context(), o); err == nil {
		t.Error("got no error")
	}
	if syscall.Unmount(filepath.Join(o.dir, "disk"), 0) == nil {
		t.Error("got a disk that is still mounted")
	}
}
