package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestPagesAreVisitedAsOftenAsTheyChange runs a day of the loop in the time of
// synctest, without a network.
func TestPagesAreVisitedAsOftenAsTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{RecrawlSoonest: 10 * time.Minute, RecrawlLatest: 12 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		visits := map[string]int{}
		r := &recrawler{
			f: f,
			fetch: func(_ context.Context, url string) ([]byte, error) {
				switch url {
				case "http://a.example/news":
					return fmt.Append(nil, time.Now()), nil
				case "http://b.example/broken":
					return nil, errors.New("no answer")
				}
				return []byte("as ever"), nil
			},
			onVisit: func(url string, _ bool) { visits[url]++ },
		}
		for _, u := range []string{"http://a.example/news", "http://a.example/about", "http://b.example/broken"} {
			if _, err := f.Add(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour-time.Minute)
		defer cancel()
		if err := r.loop(ctx); err != nil {
			t.Fatal(err)
		}
		// News: at 0, 85 and 106 minutes, and then each 10. About: at 0, 85, 191, 324, 489, 696, 955 and 1,279 minutes.
		if n, a := visits["http://a.example/news"], visits["http://a.example/about"]; n != 136 || a != 8 {
			t.Errorf("got %d visits of news and %d of about in a day; want 136 and 8", n, a)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRunOnLoopback runs until a page was seen to change, however long that takes.
func TestRunOnLoopback(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := run(ctx, "", "", func(url string, changed bool) {
		show(url, changed)
		if changed {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
