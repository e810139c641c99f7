package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/frontier"
)

const lists = "http://a.example/list?page=9" // a URL of the template of the tests, which is one group as well

func offer(t *Evidence, url, digest, canonical string) {
	t.Offer(&frontier.Fetched{URL: url, Status: 200, Digest: digest, Canonical: canonical})
}

// TestLoweredAndRaised: a template is lowered after the first content and 8 that are known, raised by
// new content, and lifted by an operator. Shadow mode only counts.
func TestLoweredAndRaised(t *testing.T) {
	for _, mode := range []TrapMode{LowerTraps, CountTraps} {
		table, shadow := New(Options{Traps: mode}), mode == CountTraps
		fetch := func(from, to int, digest string) {
			for i := from; i < to; i++ {
				offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), digest, "")
				offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), digest, "") // again: not counted
				if digest != "same" {
					digest += "."
				}
			}
		}
		offer(table, "http://a.example/first", "same", "")
		fetch(0, 7, "same")
		if table.Lower(lists, false) || table.lowered.Load() != 0 {
			t.Error("got it lowered after 7 fetches; want 8")
		}
		fetch(7, 8, "same")
		if got := table.Lower(lists, false); got == shadow || table.lowered.Load() != 2 || table.urls.Load() != 1 {
			t.Errorf("shadow %v: got %v, %d templates, %d URLs; want it lowered", shadow, got, table.lowered.Load(), table.urls.Load())
		}
		if table.Lower("http://a.example/other?page=1", false) || table.Lower("http://b.example/list?page=9", false) {
			t.Error("got another template lowered")
		}
		name := "a.example/list?page"
		if of, ok := table.Lift(name, true); !ok || !of.Lifted || table.Lower(lists, false) {
			t.Errorf("got %+v, %v; want it lifted", of, ok)
		}
		if of, ok := table.Lift(name, false); !ok || of.Lifted || table.Lower(lists, false) == shadow {
			t.Errorf("got %+v, %v; want its fetches to decide", of, ok)
		}
		fetch(8, 18, "new")
		if table.Lower(lists, false) || table.lowered.Load() != 0 || len(table.List()) != 0 {
			t.Errorf("got %+v; want it raised by new content", table.List())
		}
	}
	if _, ok := New(Options{Traps: LowerTraps}).Lift("nonesuch", true); ok {
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
		{"http://a.example/list", 2}, {"http://a.example/", 0}, {"http://b.example/list", 0}, {"", 0}, {"https://a.example/list", 0},
	} {
		table := New(Options{Traps: LowerTraps})
		offer(table, "http://a.example/list", "first", "")
		offer(table, "http://a.example/", "home", "")
		for i := range 40 {
			offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), fmt.Sprint(i), c.link)
		}
		if got := table.lowered.Load(); got != c.want {
			t.Errorf("canonical %q: got %d templates lowered; want %d", c.link, got, c.want)
		}
	}
	table := New(Options{Traps: LowerTraps})
	for i := range 40 {
		url := fmt.Sprintf("http://a.example/list?page=%d", i)
		table.Offer(&frontier.Fetched{URL: url, Status: 200})
		table.Offer(&frontier.Fetched{URL: url, Status: 404, Digest: "error page"})
	}
	if _, ok := table.Of(lists); ok {
		t.Error("got fetches without content counted")
	}
}

// TestBoundedMemory: any number of templates and contents leaves the tables as large as they
// are, and a lowered template keeps its place.
func TestBoundedMemory(t *testing.T) {
	table := New(Options{Traps: LowerTraps})
	for i := range 64 {
		offer(table, fmt.Sprintf("http://a.example/list?page=%d", i), "same", "")
	}
	for i := range 60_000 {
		offer(table, fmt.Sprintf("http://h%d.example/", i), "x", "")
	}
	n := 0
	for i := range table.traps.templates {
		for _, e := range table.traps.templates[i].entries {
			if e.Template != "" {
				n++
			}
		}
	}
	if want := templateSets * templateWays; n > want || n < want*9/10 {
		t.Errorf("got %d templates; want nearly %d", n, want)
	}
	if !table.Lower(lists, false) || table.lowered.Load() != 2 {
		t.Error("got a lowered template evicted by templates with one fetch")
	}
}

func TestGroups(t *testing.T) {
	for template, want := range map[string]string{
		"a.example/":                 "",
		"a.example/list":             "",
		"a.example/list?page":        "a.example/list?{rest}",
		"a.example/x/list?page&sort": "a.example/x/list?page&{rest} a.example/x/list?sort&{rest} a.example/x/list?{rest} a.example/x/{rest}",
		"a.example/s/{hash}/":        "a.example/s/{hash}/{rest} a.example/s/{rest}",
	} {
		var got []string
		for group := range New(Options{Traps: LowerTraps}).groups([]byte(template)) {
			got = append(got, string(group))
		}
		if got[0] != template || strings.Join(got[1:], " ") != want {
			t.Errorf("%s: got groups %q; want itself, and %s", template, got, want)
		}
	}
}

// TestGroupsAreLowered: known content of some templates lowers others of their group that were not fetched
// yet, but none that brings new content. Three fetches suffice
// below a directory that is an ID. Of facets two do. An operator lifts a group with all that is in it.
func TestGroupsAreLowered(t *testing.T) {
	for _, c := range []struct {
		fetched string // with a number
		n       int
		lowered string
		also    string // not lowered
		lift    string
	}{
		{"http://a.example/x/list?sort=%d", 8, "http://a.example/x/list?sort=99", "http://a.example/x/list?page=1", "a.example/x/{rest}"},
		{"http://a.example/topic?f=1&t=%d", 8, "http://a.example/topic?f=1&start=10&t=1", "http://a.example/list?t=1", "a.example/topic?t&{rest}"},
		{"http://a.example/list?color=1&sort=%d", 2, "http://a.example/list?color=1&size=2&sort=1", "http://a.example/other?sort=1", "a.example/list?sort&{rest}"},
		{"http://a.example/print/%d", 8, "http://a.example/print/by/name", "http://a.example/a/by/name", "a.example/print/{rest}"},
		{"http://a.example/s/0123456789abcde%d/", 3, "http://a.example/s/0123456789abcdef/news", "http://a.example/news", "a.example/s/{rest}"},
	} {
		table := New(Options{Traps: LowerTraps})
		offer(table, "http://a.example/first", "same", "")
		for i := range 2 * 4 {
			offer(table, fmt.Sprintf("http://a.example/x/list?page=%d", i), fmt.Sprint(i), "")
		}
		offerFacets(table)
		for i := range c.n {
			if table.Lower(c.lowered, false) {
				t.Errorf("%s: got it lowered after %d fetches; want %d", c.lowered, i, c.n)
			}
			offer(table, fmt.Sprintf(c.fetched, i), "same", "")
		}
		if !table.Lower(c.lowered, false) || table.Lower(c.also, false) {
			t.Errorf("%s: got %v, %s: got %v; want the first lowered", c.lowered, table.Lower(c.lowered, false), c.also, table.Lower(c.also, false))
		}
		if _, ok := table.Lift(c.lift, true); !ok || table.Lower(c.lowered, false) {
			t.Errorf("got %s lowered, and %s known: %v; want it lifted", c.lowered, c.lift, ok)
		}
	}
}

// offerFacets makes the queries of /list those of facets.
func offerFacets(t *Evidence) {
	for i, query := range []string{"color=1", "size=1", "sort=1", "brand=1", "color=1&brand=1", "size=1&brand=1", "size=1&page=1&brand=1"} {
		offer(t, "http://a.example/list?"+query, fmt.Sprint("facets ", i), "")
	}
}

// TestCombinations: of a template with two parameters, one known content in two fetches is enough, and one in four
// is not. Of facets, one in five is enough, and one in ten is not. New contents alone raise it again.
func TestCombinations(t *testing.T) {
	for _, c := range []struct {
		facets bool
		every  int
		want   bool
	}{{false, 4, false}, {false, 2, true}, {true, 10, false}, {true, 5, true}} {
		table, n := New(Options{Traps: LowerTraps}), 0
		if c.facets {
			offerFacets(table)
		}
		fetch := func(copies bool) {
			digest := fmt.Sprint(n)
			if copies && n%c.every == 0 {
				digest = "copy"
			}
			offer(table, fmt.Sprintf("http://a.example/list?color=%d&size=1", n), digest, "")
			n++
		}
		for range 200 {
			fetch(true)
		}
		if got := table.Lower("http://a.example/list?color=a&size=2", false); got != c.want {
			t.Errorf("%+v: got %v with one copy in %d", c, got, c.every)
		}
		if table.Lower("http://a.example/list?color=a", false) {
			t.Errorf("%+v: got URLs with one of the parameters lowered", c)
		}
		for range 49 {
			fetch(false)
		}
		if table.lowered.Load() != 0 {
			t.Errorf("%+v: got %+v after new contents; want it raised", c, table.List())
		}
	}
}

// TestMasked: a template whose fetches mostly bring one masked digest is lowered, also if one in seven brings another; one whose fetches
// bring each of 40 now and then is not, as statistics do.
func TestMasked(t *testing.T) {
	for name, c := range map[string]struct {
		masked func(i int) string
		want   bool
	}{
		"one":            {func(int) string { return "masked:0" }, true},
		"events":         {func(i int) string { return fmt.Sprint("masked:", i*(i%7/6)) }, true},
		"one in two":     {func(i int) string { return fmt.Sprint("masked:", i*(i%2)) }, false},
		"temperatures":   {func(i int) string { return fmt.Sprint("masked:", i*i*7%40) }, false},
		"each its own":   {func(i int) string { return fmt.Sprint("masked:", i) }, false},
		"nothing masked": {func(int) string { return "" }, false},
	} {
		table := New(Options{Traps: LowerTraps})
		for i := range 400 {
			table.Offer(&frontier.Fetched{URL: fmt.Sprintf("http://a.example/list?page=%d", i), Digest: fmt.Sprint(i), Masked: c.masked(i)})
		}
		if got := table.Lower("http://a.example/list?page=400", false); got != c.want {
			of, _ := table.Of(lists)
			t.Errorf("%s: got %v; want %v: %+v", name, got, c.want, of)
		}
	}
}

// TestUnlisted: a kind of pages that all ask robots to leave them alone is lowered, and in the mode for that excluded, until an operator
// lifts it or a page of it asks for nothing. Off, nothing happens.
func TestUnlisted(t *testing.T) {
	const form, view = "http://a.example/w?action=edit&title=x", "http://a.example/w?action=view&title=x"
	for _, c := range []struct {
		opt               Options
		lowered, excluded bool
	}{{Options{Traps: LowerTraps}, true, false}, {Options{Traps: LeaveOutTraps}, true, true}, {Options{Traps: CountTraps}, false, false}, {Options{Traps: LeaveOutTraps, Off: true}, false, false}} {
		table := New(c.opt)
		fetch := func(action string, i int, unlisted bool) {
			table.Offer(&frontier.Fetched{URL: fmt.Sprintf("http://a.example/w?title=%d&action=%s", i, action), Status: 200, Digest: fmt.Sprint(action, i), Unlisted: unlisted})
		}
		fetch("view", 0, false)
		for i := range 30 {
			if i == 2 && table.Exclude(form) {
				t.Errorf("%+v: got it excluded after two fetches", c.opt)
			}
			fetch("edit", i, true)
		}
		if table.Lower(form, false) != c.lowered || table.Exclude(form) != c.excluded || table.Exclude(view) {
			t.Errorf("%+v: got lowered %v, excluded %v, and another kind %v", c.opt, table.Lower(form, false), table.Exclude(form), table.Exclude(view))
		}
		if _, ok := table.Lift("a.example/w?{rest}", true); ok == c.opt.Off || table.Lower(form, false) || table.Exclude(form) {
			t.Errorf("%+v: got it lowered or excluded when an operator had lifted it", c.opt)
		}
		table.Lift("a.example/w?{rest}", false)
		if fetch("edit", 31, false); table.Exclude(form) {
			t.Errorf("%+v: got it excluded when a page had asked for nothing", c.opt)
		}
	}
}
