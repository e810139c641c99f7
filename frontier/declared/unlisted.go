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
//	unlisted.Fetched(lease.URL, declared.Of(lease.URL, response.Header, body)) // each page, before its links are offered
//
// A kind is the URLs of a path with one value of a parameter, of which three are fetched, or those below a directory, or those
// in a directory with the same value of a parameter, of which eight are. Of the value, what follows a slash does not count. Parts with a digit, as dates and numbers have, are equal.
//
//	wiki.example/w?action=edit      in /w?title=Home&action=edit and /w?title=Help&action=edit&section=2
//	wiki.example/w/Special:Log/     in /w/Special:Log/Ann and /w/Special:Log/Bob?limit=50
//	wiki.example/w/*?action=diff    in /w/Home?action=diff&version=2 and /w/Help?action=diff&version=1
//
// The simpler ways lose pages. Links that are marked nofollow, by themselves or by their page, are all that cgit has, and in
// DokuWiki some of them are the only way to a page. One kind for all values of a parameter (do=edit, do=index) leaves the
// index out because of its many forms. So one page without noindex keeps its kind for good. And since a page
// usually has fewer parameters than its forms, a URL with fewer than any page of its kind is fetched. Two more
// kinds of evidence were tried, and lose pages: a canonical link to a shorter URL on a page without new links, as on each page
// of a list, the last of which may have the only link to something; and answers of 404, whose template often asks for both, so
// that a few dead links would leave out a directory.
//
// So are sign-in forms, which visitors get where members edit, reply or create a page. Some ask for noindex, many for nothing. If the first
// eight pages with a value of a parameter all have a password field and show the same text ([Page].SignIn), other URLs with that value
// are left out. Directories are never left out for this: /user/login?next=1 and its like may come before the pages of users. Nor are values
// that are alike only up to a digit or a slash, as t=1 or q=node/a: the first eight topics of a forum can be for members, and others for all.
//
// Copies are left out, too: URLs with a parameter that selects no other page, as for the form to reply to a comment, or an order. Such a page
// has a canonical link to its own URL without the parameter, and the same links as the page there. If the first of eight pages in a directory have both, other
// URLs with the parameter there are left out, each only once the page without it was fetched and has a canonical link, too; one page that says
// otherwise keeps them for good.
// The canonical link alone would lose what only later pages of a list link to, and noindex with it, too.
//
// What is left out is counted and shown with whatever else is excluded, and not recorded as seen: without Unlisted it is
// queued when it is offered again. What was learned is kept in memory alone, about 7 MiB for at most 65,536 kinds, and 1 MiB for the latest 65,536 pages. Kinds that
// come later are not left out.
//
// The zero value works. Safe for concurrent use.
type Unlisted struct {
	// Profile canonicalizes the URLs passed to Fetched. The default is canon.Qiita.
	Profile *canon.Profile

	mu    sync.Mutex
	seed  maphash.Seed
	kinds map[uint64]unlistedKind // by hash; nil until the first; guarded by mu, as are seed and read
	read  []readPage              // the latest page of each place, which is a part of its hash
}

type unlistedKind struct {
	pages  [enoughBelow]uint32 // hashes of the first that were fetched, or 0: one page that is fetched again is one page
	fewest int32               // parameters of any of them
	signIn uint32              // a hash of what they show, if they are forms to sign in
	listed bool                // one of them asks for nothing, or is no copy
}

// readPage is a page that was fetched, by the hash of its canonical form, and its Page.Links.
type readPage struct{ form, links uint64 }

const (
	maxKinds    = 1 << 16
	maxKindsOf  = 8 // directories of a URL, and parameters, that are looked at
	maxRead     = 1 << 16
	enoughWith  = 3 // pages with a value of a parameter
	enoughBelow = 8 // and below a directory: it may begin with forms to log in, before the pages of users; and copies
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
	canonical := "" // of a page without one, or with a broken one
	if says.Canonical != "" {
		canonical, _ = profile.Canonicalize(says.Canonical)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds == nil {
		u.seed, u.kinds, u.read = maphash.MakeSeed(), make(map[uint64]unlistedKind), make([]readPage, maxRead)
	}
	kinds, params := u.kindsOf(form)
	for _, of := range kinds {
		hash, agrees := maphash.String(u.seed, form), says.Unlisted
		if of.param != "" {
			if agrees = lacks(canonical, form, of.param); agrees {
				hash = maphash.String(u.seed, canonical)
				original := u.read[hash%maxRead]
				if original.form != hash || original.links == 0 || says.Links == 0 {
					continue // nobody knows
				}
				agrees = original.links == says.Links
			}
		}
		k, ok := u.kinds[of.id]
		if !ok {
			if len(u.kinds) >= maxKinds {
				continue
			}
			k.fewest = params
		}
		short := uint32(hash) | 1
		if at := slices.IndexFunc(k.pages[:], func(page uint32) bool { return page == short || page == 0 }); at >= 0 {
			k.pages[at] = short
		}
		if shows := uint32(says.SignIn) | 1; !agrees && of.ofValue && says.SignIn != 0 && (k.signIn == 0 || k.signIn == shows) {
			k.signIn, agrees = shows, true
		}
		k.fewest = min(k.fewest, params)
		k.listed = k.listed || !agrees
		u.kinds[of.id] = k
	}
	hash := maphash.String(u.seed, form)
	u.read[hash%maxRead] = readPage{hash, says.Links}
}

// lacks reports whether a canonical link is a URL without a parameter, and perhaps without others.
func lacks(canonical, form, param string) bool {
	page, query, _ := strings.Cut(form, "?")
	at, left, _ := strings.Cut(canonical, "?")
	if at != page {
		return false
	}
	has := strings.Split(query, "&")
	for pair := range strings.SplitSeq(left, "&") {
		if name, _, _ := strings.Cut(pair, "="); pair != "" && (name == param || !slices.Contains(has, pair)) {
			return false
		}
	}
	return true
}

// Exclude reports whether a URL, by its canonical form, is of a kind that is left out. It is for frontier.Options.Exclude.
func (u *Unlisted) Exclude(canonical string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds == nil {
		return false
	}
	kinds, params := u.kindsOf(canonical)
	original, query, _ := strings.Cut(canonical, "?")
	var dropped []string
	for _, of := range kinds {
		k := u.kinds[of.id]
		if k.signIn != 0 {
			of.enough = enoughBelow
		}
		if k.listed || k.pages[of.enough-1] == 0 || params < k.fewest {
			continue
		}
		if of.param == "" {
			return true
		}
		dropped = append(dropped, of.param)
	}
	if len(dropped) == 0 {
		return false
	}
	sep := "?"
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); !slices.Contains(dropped, name) {
			original += sep + pair
			sep = "&"
		}
	}
	hash := maphash.String(u.seed, original)
	r := u.read[hash%maxRead]
	return r.form == hash && r.links != 0
}

// kindOf is a kind that a URL is of, by its hash, and after how many pages it is left out. If its pages are copies, it has the name of their parameter.
type kindOf struct {
	id      uint64
	enough  int
	param   string
	ofValue bool // it is the URLs with a value of a parameter, which is one alone or where to go on, and not a number or a part
}

// kindsOf returns the kinds that a canonical form is of, and how many parameters it has. The caller holds the lock.
func (u *Unlisted) kindsOf(form string) (kinds []kindOf, params int32) {
	form, query, hasQuery := strings.Cut(form, "?")
	_, form, _ = strings.Cut(form, "://")
	host, path, _ := strings.Cut(form, "/")
	at, parent, dir := host, "", host // at last the whole path, what it is in, and what is in if a slash at the end does not count
	for i, segment := range strings.Split(path, "/") {
		if i > 0 && i <= maxKindsOf {
			kinds = append(kinds, kindOf{maphash.Comparable(u.seed, [3]string{at}), enoughBelow, "", false})
		}
		if parent, at = at, at+"/"+alike(segment); segment != "" {
			dir = parent
		}
	}
	if !hasQuery {
		return kinds, 0
	}
	for pair := range strings.SplitSeq(query, "&") {
		if params++; params > maxKindsOf {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		whole := value
		value, _, _ = strings.Cut(value, "/")
		value = alike(value)
		ofValue := whole == value || value == "" || strings.HasSuffix(value, ":")
		kinds = append(kinds, kindOf{maphash.Comparable(u.seed, [3]string{at, name, value}), enoughWith, "", ofValue && value != "0"},
			kindOf{maphash.Comparable(u.seed, [3]string{parent + "/*", name, value}), enoughBelow, "", ofValue && value != "0"},
			kindOf{maphash.Comparable(u.seed, [3]string{dir + "/?", name}), enoughBelow, name, false})
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
