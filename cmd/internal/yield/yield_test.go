package yield

import (
	"fmt"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
)

const lists = "http://a.example/list?page=9" // a URL of the template of the tests

func offer(t *Table, url, digest, canonical string) {
	t.Offer(canon.Qiita(), &frontier.Fetched{URL: url, Status: 200, Digest: digest, Canonical: canonical})
}

// TestLoweredAndRaised: a template is lowered at 20 fetches of known content, raised by new
// content, and lifted by an operator. Shadow mode only counts.
func TestLoweredAndRaised(t *testing.T) {
	for _, shadow := range []bool{false, true} {
		table := New(shadow)
		fetch := func(from, to int, digest string) {
			for i := from; i < to; i++ {
				offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), digest, "")
				offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), digest, "") // again: not counted
				if digest != "same" {
					digest += "."
				}
			}
		}
		fetch(0, 19, "same")
		if table.Lower(lists) || table.Lowered() != 0 {
			t.Error("got it lowered after 19 fetches; want 20")
		}
		fetch(19, 20, "same")
		if got := table.Lower(lists); got == shadow || table.Lowered() != 1 || table.URLs() != 1 {
			t.Errorf("shadow %v: got %v, %d templates, %d URLs; want it lowered", shadow, got, table.Lowered(), table.URLs())
		}
		if table.Lower("http://a.example/other") || table.Lower("http://b.example/list?page=9") {
			t.Error("got another template lowered")
		}
		name := table.List()[0].Template
		if of, ok := table.Lift(name, true); !ok || !of.Lifted || table.Lower(lists) {
			t.Errorf("got %+v, %v; want it lifted", of, ok)
		}
		if of, ok := table.Lift(name, false); !ok || of.Lifted || table.Lower(lists) == shadow {
			t.Errorf("got %+v, %v; want its fetches to decide", of, ok)
		}
		fetch(20, 30, "new")
		if table.Lower(lists) || table.Lowered() != 0 || len(table.List()) != 0 {
			t.Errorf("got %+v; want it raised by new content", table.List())
		}
	}
	if _, ok := New(false).Lift("nonesuch", true); ok {
		t.Error("got an unknown template lifted")
	}
}

// TestCanonicalLinks: links to a variant of the same path count, and links to another path or
// host do not, however many pages name them. Neither does a fetch without a digest, or a failed one.
func TestCanonicalLinks(t *testing.T) {
	for _, c := range []struct {
		link string
		want int64
	}{
		{"http://a.example/list", 1}, {"http://a.example/", 0}, {"http://b.example/list", 0}, {"", 0}, {"https://a.example/list", 0},
	} {
		table := New(false)
		offer(table, "http://a.example/list", "first", "")
		offer(table, "http://a.example/", "home", "")
		for i := range 40 {
			offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), fmt.Sprint(i), c.link)
		}
		if got := table.Lowered(); got != c.want {
			t.Errorf("canonical %q: got %d templates lowered; want %d", c.link, got, c.want)
		}
	}
	table := New(false)
	for i := range 40 {
		url := fmt.Sprintf("http://a.example/list?page=%d", i)
		table.Offer(canon.Qiita(), &frontier.Fetched{URL: url, Status: 200})
		table.Offer(canon.Qiita(), &frontier.Fetched{URL: url, Status: 404, Digest: "error page"})
	}
	if _, ok := table.Of(lists); ok {
		t.Error("got fetches without content counted")
	}
}

// TestBoundedMemory: any number of templates and contents leaves the tables as large as they
// are, and a lowered template keeps its place.
func TestBoundedMemory(t *testing.T) {
	table := New(false)
	for i := range 64 {
		offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), "same", "")
	}
	for i := range 60_000 {
		offer(table, fmt.Sprintf("http://h%d.example/", i), "x", "")
	}
	n := 0
	for i := range table.templates {
		for _, e := range table.templates[i] {
			if e.Template != "" {
				n++
			}
		}
	}
	if want := templateSets * templateWays; n > want || n < want*9/10 {
		t.Errorf("got %d templates; want nearly %d", n, want)
	}
	if !table.Lower(lists) || table.Lowered() != 1 {
		t.Error("got a lowered template evicted by templates with one fetch")
	}
}
