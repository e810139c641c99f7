package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
)

// robots has the robots.txt of each site, fetched before its first page and again after a day.
type robots struct {
	agent string
	mu    sync.Mutex
	sites map[string]*site // by scheme, host and port; guarded by mu
}

type site struct {
	mu    sync.Mutex // held while it is fetched: others of the site wait
	rules *rules
	until time.Time
}

// rules are those of a robots.txt for us.
type rules struct {
	group *robotstxt.Group
	told  sync.Once
}

func newRobots(agent string) *robots {
	return &robots{agent: agent, sites: make(map[string]*site)}
}

// of returns the rules for a page. The error says that its site doesn't tell them now.
func (r *robots) of(ctx context.Context, client *http.Client, page string) (*rules, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	s := r.sites[u.Scheme+"://"+u.Host]
	if s == nil {
		s = new(site)
		r.sites[u.Scheme+"://"+u.Host] = s
	}
	r.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.rules, nil
	}
	file := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	data, err := r.fetch(ctx, client, file.String())
	if err != nil {
		return nil, err
	}
	s.rules, s.until = &rules{group: data.FindGroup(r.agent)}, time.Now().Add(24*time.Hour)
	return s.rules, nil
}

// fetch reads a robots.txt. One that is not there allows everything (RFC 9309, 2.3.1.3).
func (r *robots) fetch(ctx context.Context, client *http.Client, file string) (*robotstxt.RobotsData, error) {
	following := *client
	following.CheckRedirect = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, file, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", r.agent)
	resp, err := following.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("cannot read %s: %s", file, resp.Status)
	}
	return robotstxt.FromResponse(resp)
}

// allows reports whether a page may be fetched.
func (r *rules) allows(page string) bool {
	u, err := url.Parse(page)
	return err == nil && r.group.Test(u.RequestURI())
}

// news returns the Crawl-delay once, for the frontier to keep, and then 0.
func (r *rules) news() (delay time.Duration) {
	r.told.Do(func() { delay = r.group.CrawlDelay })
	return delay
}
