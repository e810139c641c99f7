package audit

import (
	"strings"

	"github.com/firstseen/firstseen/canon"
)

// foldClaim is what one URL, or two, declare of a fold.
type foldClaim struct {
	dir     string // as foldPair has it
	page    uint64 // hash of the folded form
	against bool
	example [2]string
}

// hearFold returns what canonical links say of the fold, by the host of the site: a link from
// a URL to another that folds to the same form is for it, and two URLs that fold to one form
// and each name themselves are against it.
func (f *folder) hearFold() map[string][]foldClaim {
	heard := map[string][]foldClaim{}
	if len(f.declared.of) == 0 {
		return heard
	}
	own := f.index.forms(f.safeForm)
	names := map[uint64]uint64{} // the URL that each form's URLs name, by its safe form
	for _, id := range f.captured() {
		d := f.declared.of[id]
		if d.canonical == 0 {
			continue
		}
		target := d.canonical - 1
		if f.group.form[id] != f.group.form[target] {
			continue
		}
		before, known := names[f.group.form[id]]
		names[f.group.form[id]] = own[target]
		against := d.wavers || known && before != own[target]
		if own[id] == own[target] && !against {
			continue
		}
		host, claim, ok := f.foldClaim(id, target)
		if ok {
			claim.against = against
			heard[host] = append(heard[host], claim)
		}
	}
	return heard
}

func (f *folder) foldClaim(id, target uint32) (host string, c foldClaim, ok bool) {
	form, err := f.with.AppendCanonical(nil, f.urls.at(id))
	if err != nil {
		return "", c, false
	}
	site, err := f.site.AppendCanonical(nil, form)
	if err != nil {
		return "", c, false
	}
	c = foldClaim{dir: strings.TrimSuffix(string(directory(site)), "/"), page: stableHash(form),
		example: [2]string{string(f.urls.at(id)), string(f.urls.at(target))}}
	return hostName(canon.Host(site)), c, true
}

// claimsBelow returns the sum of the claims at a path and below it, or nil if there are none.
func claimsBelow(path string, heard []foldClaim) *claims {
	var sum *claims
	for _, h := range heard {
		if h.dir != path && !strings.HasPrefix(h.dir, path+"/") {
			continue
		}
		if sum == nil {
			sum = newClaims()
		}
		if h.against {
			sum.deny(h.page)
		} else {
			sum.add(h.page, byCanonical, h.example[0], h.example[1])
		}
	}
	return sum
}
