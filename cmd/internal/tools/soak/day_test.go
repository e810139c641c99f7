//go:build linux

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestDayWeb asserts what the judgement of a day relies on: a page has one canonical form, which names it, and each page
// beyond the beginning is linked to by one other.
func TestDayWeb(t *testing.T) {
	w, r := dayWeb{known: 500, queued: 100, hosts: 40}, rand.New(rand.NewPCG(1, 1))
	parents := map[int]int{}
	for page := range 2000 {
		form, err := canon.Qiita().Canonicalize(w.variant(r, page))
		if err != nil || form != w.url(page) || dayPage(form) != page || w.host(page) < 0 || w.host(page) >= w.hosts {
			t.Fatalf("page %d: got %s, %v; want %s of one of %d hosts", page, form, err, w.url(page), w.hosts)
		}
		if page < w.known { // never fetched
			continue
		}
		for _, to := range w.links(r, page, nil) {
			if to < w.known+w.queued {
				continue
			}
			if from, is := parents[to]; is || to <= page {
				t.Fatalf("page %d links to %d, as page %d does; want it ahead, and linked to once", page, to, from)
			}
			parents[to] = page
		}
	}
	if want := dayNew * (2000 - w.known); len(parents) != want {
		t.Errorf("got %d new pages; want %d", len(parents), want)
	}
}

// TestDayJudges plants what a day alone looks for: a page that is leased although it has ended.
func TestDayJudges(t *testing.T) {
	for what, c := range map[string]struct {
		settled      string
		ended, again int
	}{"done": {"settle 7 t1 done;settled 7 t1 ok", 1, 0}, "dropped": {"settle 7 t1 drop;settled 7 t1 ok", 1, 0},
		"put back": {"settle 7 t1 retry;settled 7 t1 ok", 0, 1}, "stale": {"settle 7 t1 done;settled 7 t1 stale", 0, 1},
		"no answer": {"settle 7 t1 done", 0, 1}, "killed": {"", 0, 1}} {
		r := newDayReport(&day{}, nil)
		for at, line := range strings.Split("lease 7 t1 q 1;"+c.settled+";lease 7 t2 q 2;lease 8 t3 q 3", ";") {
			if words := strings.Fields(line); len(words) > 0 {
				r.take(entry{int64(at), words[0], words[1:]})
			}
		}
		if ended, again := r.leasedAgain(); ended != c.ended || again != c.again {
			t.Errorf("%s: got %d, %d; want %d, %d", what, ended, again, c.ended, c.again)
		}
	}
}
