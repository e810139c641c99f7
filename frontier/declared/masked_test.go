package declared

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// site is a page with enough words around its content.
func site(content string) []byte {
	return []byte("<html><body><p>Home, contact and imprint of a site that has more than twenty words on each of its pages, so that a digest of the text can stand for them all.</p>" + content + "</body></html>")
}

// calendars are ways to print a day or a month without events: its URL, and its text. The weeks of a month begin on Monday.
var calendars = map[string]func(day time.Time) (url, text string){
	"a day, in English": func(d time.Time) (string, string) {
		return d.Format("/events/2006-01-02"), d.Format("<h1>Monday, January 2, 2006</h1> No events on 01/02/2006. ") + d.AddDate(0, 0, -1).Format("<a>Jan 2</a> ") + d.AddDate(0, 0, 1).Format("<a>Mon, Jan 2</a>")
	},
	"a day, in the query": func(d time.Time) (string, string) {
		return d.Format("/cal?day=2&month=1&year=2006"), d.Format("<h1>2.1.2006</h1> ") + d.AddDate(0, 1, 0).Format("next: January 2006")
	},
	"a day, in German": func(d time.Time) (string, string) {
		month := [...]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"}[d.Month()-1]
		_, week := d.ISOWeek()
		return d.Format("/kalender/20060102"), fmt.Sprintf("<h1>%d. %s %d</h1> Woche %d: keine Termine", d.Day(), month, d.Year(), week)
	},
	"a month with its weeks": func(d time.Time) (string, string) {
		first := time.Date(d.Year(), d.Month(), 1, 0, 0, 0, 0, time.UTC)
		var cells strings.Builder
		for at := first.AddDate(0, 0, -(int(first.Weekday())+6)%7); at.Before(first.AddDate(0, 1, 0)) || at.Weekday() != time.Monday; at = at.AddDate(0, 0, 1) {
			fmt.Fprintf(&cells, "<td>%d</td> ", at.Day())
		}
		return d.Format("/events/2006/01/"), d.Format("<h1>January 2006</h1> Mo Tu We Th Fr Sa Su ") + cells.String() + first.AddDate(0, -1, 0).Format("<a>January</a> ") + first.AddDate(0, 1, 0).Format("<a>January</a>")
	},
	"a time of Unix": func(d time.Time) (string, string) {
		return fmt.Sprintf("/plan?t=%d", d.Unix()), d.Format("Plan of Mon 02.01.2006")
	},
}

// TestMaskedCalendars: all days, or months, of 2 years have one masked digest and digests of their own, and an event makes another.
func TestMaskedCalendars(t *testing.T) {
	for name, print := range calendars {
		masked, exact := map[string]int{}, map[string]bool{}
		urls := map[string]bool{}
		first := ""
		for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2028; day = day.AddDate(0, 0, 1) {
			url, text := print(day)
			page := "http://a.example" + url
			is := Masked(page, "text/html", site(text))
			masked[is]++
			if first == "" {
				first = is
			}
			urls[url] = true
			exact[Digest("text/html", site(text))] = true
			if got := Masked(page, "text/html", site(text+" <p>Concert at 19:30, 12 euros</p>")); got == is {
				t.Fatalf("%s: %s: got the same digest with an event", name, url)
			}
		}
		if len(masked) != 1 || len(exact) != len(urls) {
			t.Errorf("%s: got %d masked digests and %d digests of %d pages; want one, and one each", name, len(masked), len(exact), len(urls))
		}
	}
}

// TestMaskedIsNoMore: pages that differ in numbers that their URLs do not have, in words or in images keep digests of their own.
func TestMaskedIsNoMore(t *testing.T) {
	for name, print := range map[string]func(i int) (url, text string){
		"long numbers": func(i int) (string, string) { return "/page/0", fmt.Sprintf("%d%020d", 9+i, i) },
		"prices": func(i int) (string, string) {
			return fmt.Sprintf("/item/%d", i), fmt.Sprintf("Item %d costs %d.%02d euros", i, 3+i*7, i*31%100)
		},
		"a table by date": func(i int) (string, string) {
			return fmt.Sprintf("/rates/2026-03-%02d", 1+i%28), fmt.Sprintf("1 euro is 1.%04d dollars", 800+i*37)
		},
		"statistics by year": func(i int) (string, string) {
			return fmt.Sprintf("/people?year=%d", 1900+i), fmt.Sprintf("%d people in %d", 4000+i*i*13, 1900+i)
		},
		"articles by number": func(i int) (string, string) { return fmt.Sprintf("/article/%d", i), strings.Repeat("word ", i) },
		"images by number": func(i int) (string, string) {
			return fmt.Sprintf("/image/%d", i), fmt.Sprintf("Image %d <img src=/img/%d.jpg>", i, i)
		},
		"months that no URL has": func(i int) (string, string) {
			return fmt.Sprintf("/report/%d", 70+i), fmt.Sprintf("Report of %s", time.Month(1+i%12))
		},
	} {
		masked, n := map[string]bool{}, 12
		for i := range n {
			url, text := print(i)
			masked[Masked("http://a.example"+url, "text/html", site(text))] = true
		}
		if len(masked) != n {
			t.Errorf("%s: got %d digests of %d pages; want one each", name, len(masked), n)
		}
	}
	for _, c := range []struct{ kind, body string }{{"text/html", "<p>few words"}, {"application/json", string(site(""))}} {
		if got := Masked("http://a.example/2026-01-01", c.kind, []byte(c.body)); got != "" {
			t.Errorf("%s: got %s; want none", c.kind, got)
		}
	}
}
