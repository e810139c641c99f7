package declared

import (
	"hash/maphash"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/canon"
)

// Unlisted leaves out pages that ask robots neither to index them nor to follow their links ([Page].Unlisted): the histories,
// forms, differences and logs of a wiki, most of what a crawl of one fetches. What a page asks is known only once it was
// fetched. So some of each kind are fetched, and if all of them ask for it, the rest of the kind is left out:
//
//	var unlisted declared.Unlisted
//	opt.Exclude = unlisted.Exclude // or a function that asks it and others
//	...
//	unlisted.Fetched(lease.URL, declared.Of(lease.URL, response.Header, body)) // each page, before it is settled
//
// A kind is the URLs of a path with one value of a parameter, of which three are fetched, or those below a directory, of which
// eight are. Of the value, what follows a slash does not count. Parts with a digit, as dates and numbers have, are equal.
//
//	wiki.example/w?action=edit      in /w?title=Home&action=edit and /w?title=Help&action=edit&section=2
//	wiki.example/w/Special:Log/     in /w/Special:Log/Ann and /w/Special:Log/Bob?limit=50
//
// The simpler ways lose pages. Links that are marked nofollow, by themselves or by their page, are all that cgit has, and in
// DokuWiki some of them are the only way to a page. One kind for all values of a parameter (do=edit, do=index) leaves the
// index out because of its many forms. So one page without noindex keeps its kind for good. And since a page
// usually has fewer parameters than its forms, a URL with fewer than any page of its kind is fetched. Two more
// kinds of evidence were tried, and lose pages: a canonical link to a shorter URL on a page without new links, as on each page
// of a list, the last of which may have the only link to something; and answers of 404, whose template often asks for both, so
// that a few dead links would leave out a directory.
//
// What is left out is counted and shown with whatever else is excluded, and not recorded as seen: without Unlisted it is
// queued when it is offered again. What was learned is kept in memory alone, about 7 MiB for at most 65,536 kinds. Kinds that
// come later are not left out.
//
// The zero value works. Safe for concurrent use.
type Unlisted struct {
	// Profile canonicalizes the URLs passed to Fetched. The default is canon.Qiita.
	Profile *canon.Profile

	mu    sync.Mutex
	seed  maphash.Seed
	kinds map[uint64]unlistedKind // by hash; nil until the first; guarded by mu, as is seed
}

type unlistedKind struct {
	pages  [enoughBelow]uint32 // hashes of the first that were fetched, or 0: one page that is fetched again is one page
	fewest int32               // parameters of any of them
	listed bool                // one of them asks for nothing
}

const (
	maxKinds    = 1 << 16
	enoughWith  = 3 // pages with a value of a parameter
	enoughBelow = 8 // and below a directory: it may begin with forms to log in, before the pages of users
)

// Fetched takes what a page asks for, of an answer with status 200.
func (u *Unlisted) Fetched(page string, says Page) {
	profile := u.Profile
	if profile == nil {
		profile = canon.Qiita()
	}
	form, err := profile.Canonicalize(page)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds == nil {
		u.seed, u.kinds = maphash.MakeSeed(), make(map[uint64]unlistedKind)
	}
	kinds, params := u.kindsOf(form)
	hash := uint32(maphash.String(u.seed, form)) | 1
	for _, of := range kinds {
		k, ok := u.kinds[of.id]
		if !ok {
			if len(u.kinds) >= maxKinds {
				continue
			}
			k.fewest = params
		}
		if at := slices.IndexFunc(k.pages[:], func(page uint32) bool { return page == hash || page == 0 }); at >= 0 {
			k.pages[at] = hash
		}
		k.fewest = min(k.fewest, params)
		k.listed = k.listed || !says.Unlisted
		u.kinds[of.id] = k
	}
}

// Exclude reports whether a URL, by its canonical form, is of a kind that is left out. It is for frontier.Options.Exclude.
func (u *Unlisted) Exclude(canonical string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds == nil {
		return false
	}
	kinds, params := u.kindsOf(canonical)
	return slices.ContainsFunc(kinds, func(of kindOf) bool {
		k := u.kinds[of.id]
		return !k.listed && k.pages[of.enough-1] != 0 && params >= k.fewest
	})
}

// kindOf is a kind that a URL is of, by its hash, and after how many pages it is left out.
type kindOf struct {
	id     uint64
	enough int
}

// kindsOf returns the kinds that a canonical form is of, and how many parameters it has. The caller holds the lock.
func (u *Unlisted) kindsOf(form string) (kinds []kindOf, params int32) {
	form, query, hasQuery := strings.Cut(form, "?")
	_, form, _ = strings.Cut(form, "://")
	host, path, _ := strings.Cut(form, "/")
	at := host // and then a directory, and at last the whole path
	for i, segment := range strings.Split(path, "/") {
		if i > 0 {
			kinds = append(kinds, kindOf{maphash.Comparable(u.seed, [3]string{at}), enoughBelow})
		}
		at += "/" + alike(segment)
	}
	if !hasQuery {
		return kinds, 0
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		value, _, _ = strings.Cut(value, "/")
		kinds = append(kinds, kindOf{maphash.Comparable(u.seed, [3]string{at, name, alike(value)}), enoughWith})
		params++
	}
	return kinds, params
}

// alike returns a part of a URL, or what stands for all parts with a digit.
func alike(part string) string {
	if strings.ContainsAny(part, "0123456789") {
		return "0"
	}
	return part
}

// isUnlisted reports whether a response asks for both noindex and nofollow, given its fields X-Robots-Tag and elements
// meta name=robots. A robot's name and a colon limit the rest of the field to that robot. What stands before a colon
// and is no robot's name is a directive with a value, or part of a date, which has a blank in it.
func isUnlisted(robots []string) bool {
	noIndex, noFollow := false, false
	for _, text := range robots {
		for word := range strings.SplitSeq(text, ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if name, _, ok := strings.Cut(word, ":"); ok && !strings.HasPrefix(name, "max-") && name != "unavailable_after" && !strings.Contains(strings.TrimSpace(name), " ") {
				break
			}
			noIndex = noIndex || word == "noindex" || word == "none"
			noFollow = noFollow || word == "nofollow" || word == "none"
		}
	}
	return noIndex && noFollow
}
