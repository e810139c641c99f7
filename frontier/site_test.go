package frontier

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// site is a site of n pages with links to each in several spellings, of which the server knows some: by case, port,
// slashes, www, scheme, tracking parameter, session and fragment. Some pages redirect, some are busy at first, some are gone, and some
// that are gone say so with status 200.
type site struct {
	rnd  *rand.Rand
	busy map[string]bool
}

// spellings are the links to a page, in the order in which a crawler meets them.
func (s *site) spellings(n int) []string {
	page := fmt.Sprintf("site.example/dir/page-%d", n)
	all := []string{"http://" + page, "http://www." + page, "https://" + page, "http://SITE.example:80/dir/page-" + fmt.Sprint(n), "http://site.example//dir//page-" + fmt.Sprint(n),
		"http://" + page + "/", "http://" + page + "?utm_source=x", "http://" + page + "?PHPSESSID=0123456789abcdef0123456789abcdef", "http://" + page + "#top"}
	s.rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:2+s.rnd.IntN(len(all)-2)]
}

// knows reports whether the server has a spelling of a page: it is strict in one way or another for each page.
func knows(n int, url string) bool {
	rest, scheme := strings.CutPrefix(url, "https:")
	path := rest[strings.Index(rest, "ple")+3:]
	switch n % 8 {
	case 0:
		return !strings.Contains(path, "//")
	case 1:
		return !strings.HasSuffix(path, "/")
	case 2:
		return !strings.Contains(url, "www.")
	case 3:
		return !scheme
	case 4:
		return !strings.Contains(url, "utm_")
	case 5:
		return !strings.Contains(url, "SESSID")
	case 6:
		return strings.Contains(url, "www.") // only there: the canonical form may be the wrong one
	}
	return true
}

// TestSiteLosesNoPage crawls the site under eight sets of rules. No page may be lost if its canonical form or the next
// offered spelling answers.
func TestSiteLosesNoPage(t *testing.T) {
	pages := tortureCount(600, 2000)
	for i, rules := range []string{"", "+strip-www", "+fold-https", "+strip-trailing-slash", "+strip-tracking-params", "+strip-session-ids",
		"+strip-www,+fold-https,+strip-trailing-slash,+strip-tracking-params,+strip-session-ids", "+lowercase-path,+keep-duplicate-slashes"} {
		t.Run(rules, func(t *testing.T) {
			profile, err := canon.Qiita().WithRules(rules)
			must(t, err)
			s := &site{rnd: rand.New(rand.NewPCG(7, uint64(i))), busy: map[string]bool{}}
			f := open(t, Options{Profile: profile, Delay: -1, MaxInFlight: -1, Traps: Traps{Off: true}})
			var links []Link
			pageOf, canReach := map[string]int{}, map[int]bool{}
			for n := range pages {
				groups := map[string][]string{}
				for _, url := range s.spellings(n) {
					links, pageOf[url] = append(links, Link{URL: url}), n
					form, err := profile.Canonicalize(url)
					must(t, err)
					pageOf[form] = n
					groups[form] = append(groups[form], url)
				}
				for form, urls := range groups { // what the promise says of each key
					var other string
					for _, u := range urls[1:] {
						if u != urls[0] && u != form {
							other = u
							break
						}
					}
					canReach[n] = canReach[n] || knows(n, urls[0]) || knows(n, form) || other != "" && knows(n, other)
				}
			}
			read, fetches := map[int]bool{}, 0
			for round := 0; round < 3; round++ { // a page's links are met again and again
				addAll(t, f, links...)
				for leases := leaseUpTo(t, f, 1000); len(leases) > 0; leases = leaseUpTo(t, f, 1000) {
					for _, l := range leases {
						fetches++
						s.fetch(t, f, l, pageOf[l.URL], read)
					}
				}
			}
			lost := 0
			for n := range pages {
				if canReach[n] && !read[n] {
					lost++
				}
			}
			if lost > 0 {
				t.Errorf("lost %d of %d pages; want none", lost, len(canReach))
			}
			if st, err := f.Stats(bg, ""); err != nil || st.Held != 0 || fetches > 2*len(links) {
				t.Errorf("got %+v, %v after %d fetches of %d links; want nothing held, and few fetches", st, err, fetches, len(links))
			}
		})
	}
}

func leaseUpTo(t *testing.T, f *Frontier, n int) []*Lease {
	t.Helper()
	leases, _, err := f.Lease(bg, LeaseRequest{Max: n, MaxPerQueue: n})
	must(t, err)
	return leases
}

// fetch settles a lease by what the server answers.
func (s *site) fetch(t *testing.T, f *Frontier, l *Lease, n int, read map[int]bool) {
	t.Helper()
	settle := Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: 404}}
	switch {
	case n%10 == 3 && !s.busy[l.URL]:
		s.busy[l.URL] = true
		settle.Outcome, settle.Fetched.Status = Defer, 429
		settle.At = l.Created
	case !knows(n, l.URL):
	case n%50 == 7: // a soft 404: nobody can know
		settle.Outcome, read[n] = Done, true
	default:
		settle.Outcome, read[n] = Done, true
	}
	_, err := f.Settle(bg, []Settlement{settle})
	must(t, err)
}
