package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
)

// remoteFrontier is a frontier behind a network, as slow as remoteStorage.
type remoteFrontier struct {
	frontier.Interface
	trip time.Duration
}

func (f remoteFrontier) See(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	time.Sleep(f.trip)
	return f.Interface.See(ctx, urls)
}

func (f remoteFrontier) Lookup(ctx context.Context, u frontier.Link) (frontier.Entry, error) {
	time.Sleep(f.trip)
	return f.Interface.Lookup(ctx, u)
}

// TestStorageEndsTheRace is TestRace with colly as it is, on our storage.
func TestStorageEndsTheRace(t *testing.T) {
	c := colly.NewCollector()
	if err := c.SetStorage(NewStorage(remoteFrontier{open(t), 500 * time.Microsecond})); err != nil {
		t.Fatal(err)
	}
	if n := duplicates(t, c); n != 0 {
		t.Errorf("got %d duplicate fetches; want none", n)
	}
}

func TestStorageRemembers(t *testing.T) {
	served := map[string]int{}
	server := site(t, served)
	dir := t.TempDir()
	for range 2 { // runs
		f, closeAll, err := openOn(dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := colly.NewCollector()
		if err := c.SetStorage(NewStorage(f)); err != nil {
			t.Fatal(err)
		}
		if visited, err := c.HasVisited(server.URL + "/page"); err != nil || visited != (served["/page"] > 0) {
			t.Errorf("got %t, %v after %d visits", visited, err, served["/page"])
		}
		for _, path := range []string{"/page", "/page", "/old", "/also", "/new"} {
			var already *colly.AlreadyVisitedError
			if err := c.Visit(server.URL + path); err != nil && !errors.As(err, &already) {
				t.Error(err)
			}
		}
		if err := closeAll(); err != nil {
			t.Fatal(err)
		}
	}
	if served["/page"] != 1 || served["/new"] != 1 {
		t.Errorf("got %v; want each page once in two runs, redirected to or not", served)
	}
}
