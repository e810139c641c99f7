package frontier

import (
	"cmp"
	"time"
)

// Fetched is the result of a fetch. Reported with a [Settlement] or a [Known], it is passed to
// [Options.OnFetched], where rules are judged by it.
type Fetched struct {
	// URL as it was fetched. The default is that of the lease, or the known one's.
	URL string
	// Time of the fetch. The default is now.
	Time time.Time
	// Status of HTTP. The default, 0, is unknown.
	Status int
	// Digest of the content, with or without "sha1:" before it, in hex or base32, but always
	// in the same form. The default, "", is unknown.
	Digest string
	// Redirect is where the fetch was redirected to. The default, "", is nowhere.
	Redirect string
	// Canonical is the canonical link that the response declares, absolute (package
	// frontier/declared). The default is none.
	Canonical string
	// NoVarySearch is its No-Vary-Search field. The default is none.
	NoVarySearch string
	// CleanParam are the Clean-param rules of a robots.txt, a line each. The default is none.
	CleanParam string
}

// reportFetched passes what a fetch gave to OnFetched.
func (f *Frontier) reportFetched(r *Fetched, url string, now time.Time) {
	if r == nil || f.opt.OnFetched == nil {
		return
	}
	is := *r
	is.URL = cmp.Or(is.URL, url)
	if is.Time.IsZero() {
		is.Time = now
	}
	if is.URL != "" {
		f.opt.OnFetched(is)
	}
}
