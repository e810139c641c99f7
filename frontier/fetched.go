package frontier

import (
	"time"

	"github.com/firstseen/firstseen/store/captures"
)

// Fetched is what a fetch gave. Reported with a [Settlement] or a [Known], it goes to
// [Options.Captures], where rules are judged by it.
type Fetched struct {
	// URL as it was fetched. The default is that of the lease, or the known one's.
	URL string
	// Time of the fetch. The default is now.
	Time time.Time
	// Status of HTTP. The default, 0, is unknown.
	Status int
	// Digest of the content, in any one alphabet, as "sha1:…" or bare. The default, "",
	// is unknown.
	Digest string
	// Redirect is where the fetch was redirected to. The default, "", is nowhere.
	Redirect string
}

// keep gives what a fetch told to the sample. It never waits, and never fails what the
// fetch was reported with.
func (f *Frontier) keep(r *Fetched, url string, now time.Time) {
	if r == nil || f.opt.Captures == nil {
		return
	}
	c := captures.Capture{URL: r.URL, Time: r.Time, Status: r.Status, Digest: r.Digest, Redirect: r.Redirect}
	if c.URL == "" {
		c.URL = url
	}
	if c.Time.IsZero() {
		c.Time = now
	}
	if c.URL != "" {
		f.opt.Captures.Offer(c)
	}
}
