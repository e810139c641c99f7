package frontier

import (
	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// SetProfile replaces the profile from the next call on, for rules of hosts and paths that change
// during a crawl. The profile must have the name and version of [Options.Profile], or the error is
// store.ErrIdentity; the store's identity stays that of Options.Profile. So call New with the
// profile without rule files, then SetProfile with them.
//
// Keys made before stay as they are. If the new rules change the form of a URL that was seen under
// the old ones, the URL is new once more; if its old entry is still queued, it is fetched also.
func (f *Frontier) SetProfile(p *canon.Profile) error {
	was := f.opt.Profile
	if p.Name() != was.Name() || p.Version() != was.Version() {
		return fault.As(store.ErrIdentity, "cannot replace profile %s, version %d, by %s, version %d; want one that differs only in its rule files", was.Name(), was.Version(), p.Name(), p.Version())
	}
	f.profile.Store(p.WithListsOf(was.String()))
	return nil
}
