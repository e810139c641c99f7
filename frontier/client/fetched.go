package client

import (
	"cmp"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// fetchedOf is the JSON of what the fetch of a lease gave, nil for nothing. It serves
// to judge rules by, and must not keep a lease from being settled: what the wire
// can't carry of it is left out.
func fetchedOf(s *frontier.Settlement) []byte {
	if s.Fetched == nil {
		return nil
	}
	f := wire.Fetched{URL: cmp.Or(s.Fetched.URL, s.Lease.URL), Time: s.Fetched.Time.UTC(), Status: s.Fetched.Status,
		Digest: s.Fetched.Digest, Redirect: s.Fetched.Redirect,
		Canonical: s.Fetched.Canonical, NoVarySearch: s.Fetched.NoVarySearch, CleanParam: s.Fetched.CleanParam}
	if f.URL == "" || !utf8.ValidString(f.URL+f.Digest+f.Redirect+f.Canonical+f.NoVarySearch+f.CleanParam) {
		return nil
	}
	if f.Status < 0 || f.Status > 999 {
		f.Status = 0
	}
	if f.Time.Year() < 1 || f.Time.Year() > 9999 {
		f.Time = time.Time{}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return text
}
