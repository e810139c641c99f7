package frontier

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// SetProfile puts another profile in force from the next call on, for rules of
// hosts and paths that change during a crawl. It must have the name and version
// of [Options.Profile], or the error is store.ErrIdentity; the store's identity
// stays that of Options.Profile.
//
// Keys made before stay as they are: a URL seen under the old rules whose form
// the new ones change counts as new once more, and its old entry, if it is
// still held, is fetched too. So open a frontier with the profile without rule
// files, and set those after each New.
func (f *Frontier) SetProfile(p *canon.Profile) error {
	was := f.opt.Profile
	if p.Name() != was.Name() || p.Version() != was.Version() {
		return fmt.Errorf("cannot set profile; got %s version %d; want %s version %d: %w", p.Name(), p.Version(), was.Name(), was.Version(), store.ErrIdentity)
	}
	f.profile.Store(p)
	return nil
}
