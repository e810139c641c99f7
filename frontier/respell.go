package frontier

import (
	"cmp"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/store"
)

// A page is fetched under the spelling that was offered first, and every other spelling is a duplicate.
// Where that first spelling is the bad one, /page//14 with /page/14 beside it, all links to the good one
// would be thrown away, and the page lost. So a spelling that is not found does not speak for its page:
//
//	1. the URL is queued once more, as its canonical form
//	2. if that is not found either, the key is marked with the first spelling, and the next
//	   offer of another spelling is queued (store.Item.Variant), once
//
// Nothing is kept for each spelling, and a page that is simply gone costs one fetch more.

// Respelled returns how many pages this frontier has queued in another spelling, since they were not found as they were spelled before: in their
// canonical form, or as they were offered next.
func (f *Frontier) Respelled() int64 { return f.respelled.Load() }

// isNotFound reports whether a lease ends with 404 or 410, by Drop or after the last attempt.
func (s *Settlement) isNotFound() bool {
	return (s.Outcome == Drop && s.reason == "" || s.Outcome == Retry && s.reason == ReasonAttempts) && s.Fetched != nil && (s.Fetched.Status == http.StatusNotFound || s.Fetched.Status == http.StatusGone)
}

// respell gives a page whose URL was not found another chance, and reports whether a URL was queued for it.
func (f *Frontier) respell(c *crawl, s *Settlement, out *store.Settlement) (queued bool) {
	l := s.Lease
	if !l.complete || l.respelled {
		return false // the last of its chances, for a respelled one
	}
	r := l.record()
	if form := f.fetchableForm(c, l.URL); form != l.URL && form != "" && r.first == 0 {
		r = r.anew()
		r.first = store.Spelling(l.URL)
		if s.Meta != nil {
			r.meta = s.Meta
		}
		out.Outcome, out.Failed, out.NewRound, out.URL, out.Due, out.Meta = store.Requeue, false, true, form, time.Time{}, r.replacing()
		return true
	}
	if !isExact(f.profileOf(c)) {
		out.Mark = cmp.Or(r.first, store.Spelling(l.URL))
	}
	return false
}

// fetchableForm is the canonical form of a URL if it can be fetched, and is its own canonical form; else "".
func (f *Frontier) fetchableForm(c *crawl, url string) string {
	id := f.identifier(c)
	if !id.profile.Fetchable() || id.canonicalize(url) != nil {
		return ""
	}
	form := string(id.scratch)
	if id.canonicalize(form) != nil || string(id.scratch) != form {
		return "" // its key would be another
	}
	return form
}
