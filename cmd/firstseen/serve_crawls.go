package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
)

// crawlProfile is a crawl and the profile it is to have.
type crawlProfile struct {
	crawl   string
	profile *canon.Profile
}

// chosenProfiles reads the values of --crawl-profile, CRAWL=PROFILE.
func (f *serveFlags) chosenProfiles() ([]crawlProfile, error) {
	var out []crawlProfile
	for _, v := range f.crawlProfiles {
		crawl, name, ok := strings.Cut(v, "=")
		if !ok || crawl == "" {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q; want a crawl, =, and a profile", v)
		}
		p, err := canon.ParseProfile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q: %w", v, err)
		}
		out = append(out, crawlProfile{crawl, p})
	}
	return out, nil
}

// chooseProfiles sets the profiles of crawls by --crawl-profile.
func (f *serveFlags) chooseProfiles(ctx context.Context, front *frontier.Frontier) error {
	chosen, err := f.chosenProfiles()
	if err != nil {
		return err
	}
	for _, c := range chosen {
		if err := front.SetCrawlProfile(ctx, c.crawl, c.profile); err != nil {
			return err
		}
	}
	return nil
}
