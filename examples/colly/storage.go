package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// Storage is colly's storage.Storage on a frontier: call c.SetStorage(NewStorage(f)). A visit is on
// disk before it begins. If several goroutines begin to visit a page, one succeeds: colly calls
// IsVisited, and then the result of Visited decides.
//
// Colly passes a storage the 64-bit hash of a request, never its URL. So identity is colly's:
// variants of a URL are different pages. [Once] and [Drive] recognize them. Cookies stay in memory.
type Storage struct {
	storage.InMemoryStorage // for the cookies
	f                       frontier.Interface
}

// NewStorage makes a storage. What was visited is kept in the frontier's own crawl
// (frontier.Options.Crawl), so crawlers that name different crawls don't share it.
func NewStorage(f frontier.Interface) *Storage { return &Storage{f: f} }

// requestURL stands for a request in the frontier.
func requestURL(id uint64) frontier.Link {
	return frontier.Link{URL: fmt.Sprintf("http://colly.invalid/%016x", id)}
}

// Visited claims a request. It fails with colly.AlreadyVisitedError if another
// goroutine, process or run has it. A claim whose answer a wire lost counts as
// ours: better a page twice than never.
func (s *Storage) Visited(id uint64) error {
	u := requestURL(id)
	results, err := s.f.See(context.Background(), []frontier.Link{u})
	switch {
	case err != nil:
		return err
	case results[0].Status == frontier.StatusNew || results[0].Resent:
		return nil
	}
	claimed, err := url.Parse(u.URL)
	if err != nil {
		return err
	}
	return &colly.AlreadyVisitedError{Destination: claimed}
}

// IsVisited looks, and claims nothing.
func (s *Storage) IsVisited(id uint64) (bool, error) {
	_, err := s.f.Lookup(context.Background(), requestURL(id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
