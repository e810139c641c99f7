package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// A trap is a site on which most pairs of URLs have one content because the server answers
// them all alike, and on which the few pages that exist differ in every rule.
type trap struct {
	name  string
	plant func(*planter)
}

var traps = []trap{
	{"soft 404", plantSoft404},
	{"login wall", plantLoginWall},
	{"cookie wall", plantCookieWall},
	{"repeating pagination", plantPagination},
	{"language switch", plantLanguages},
	{"calendar", plantCalendar},
}

// harmHost is the site of the trap. goodHost is another one in the same log, on which
// stripping www and dropping "ref" are right.
const harmHost, goodHost = "harm.example", "good.example"

// TestTrapsTeachNothing plants each trap 5 times, 20 in torture, and learns from it: no rule for its site
// may be proposed, and the two good rules of the other site must be. The audit must not
// call a rule right whose pairs on the site are nearly all one page's.
func TestTrapsTeachNothing(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("FIRSTSEEN_TORTURE") != "" {
		seeds = 20
	}
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			harmful := 0
			for seed := range seeds {
				harmful += learnTrap(t, trap, seed)
				auditTrap(t, trap, seed)
			}
			t.Logf("%d harmful proposals in %d webs", harmful, seeds)
		})
	}
}

func learnTrap(t *testing.T, trap trap, seed uint64) (harmful int) {
	t.Helper()
	p := newPlanter(t, seed)
	trap.plant(p)
	p.plantGood()
	learned, err := Learn(context.Background(), p.log)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]bool{}
	for _, r := range learned.Proposals {
		if r.Host == harmHost {
			harmful++
			t.Errorf("seed %d: proposed %s at %s%s, learned from %d of %d, validated on %d of %d; want nothing",
				seed, r.What(), r.Host, r.Path, r.Learned.Held, r.Learned.Pairs, r.Validated.Held, r.Validated.Pairs)
		}
		good[r.Host+" "+r.What()] = true
	}
	for _, want := range []string{goodHost + " strip-www", goodHost + " ref"} {
		if !good[want] {
			t.Errorf("seed %d: did not propose %s; proposed %v", seed, want, good)
		}
	}
	return harmful
}

// auditTrap wants no precision of 90 % or more of any rule that merges pages of the trap.
func auditTrap(t *testing.T, trap trap, seed uint64) {
	t.Helper()
	p := newPlanter(t, seed)
	trap.plant(p)
	for _, v := range runAudit(t, p.log, Request{Profile: canon.Qiita()}).Forms {
		if v.Merges > 0 && v.Verdict != nil && v.Verdict.Share >= 0.9 && v.Kind == Optional {
			t.Errorf("seed %d: audit of %s got %.1f %% of %d trials; want no such verdict", seed, v.Name, 100*v.Verdict.Share, v.Verdict.Trials)
		}
	}
}

// planter writes captures of a web that it draws at random.
type planter struct {
	*rand.Rand
	t      *testing.T
	log    *Log
	second int64
}

func newPlanter(t *testing.T, seed uint64) *planter {
	return &planter{Rand: rand.New(rand.NewPCG(seed, 24)), t: t, log: NewLog()}
}

// between returns a number from low to high.
func (p *planter) between(low, high int) int { return low + p.IntN(high-low+1) }

// fetch adds a capture for each content, in order. Digests of unequal lengths
// are not compared.
func (p *planter) fetch(url string, contents ...string) {
	for _, content := range contents {
		p.second += int64(1 + p.IntN(100))
		if err := p.log.Add(at(p.second, url, fmt.Sprintf("%064x", sha256.Sum256([]byte(content))))); err != nil {
			p.t.Fatal(err)
		}
	}
}

// steady fetches a URL twice with one content.
func (p *planter) steady(url, content string) { p.fetch(url, content, content) }

// variants are the URLs of a page that the four folds and a parameter make one.
func variants(path string) []string {
	return []string{
		"http://" + harmHost + path, "http://www." + harmHost + path, "https://" + harmHost + path,
		"http://" + harmHost + path + "/", "http://" + harmHost + path + "?lang=de",
	}
}

// wall plants dead pages that all have one content and live pages whose variants differ.
func (p *planter) wall(body string, dirs ...string) {
	for i := range p.between(300, 600) {
		dir := dirs[p.IntN(len(dirs))]
		for _, url := range variants(fmt.Sprintf("%s/dead%d", dir, i)) {
			p.steady(url, body)
		}
	}
	for i := range p.between(4, 12) {
		dir := dirs[p.IntN(len(dirs))]
		for j, url := range variants(fmt.Sprintf("%s/live%d", dir, i)) {
			p.steady(url, fmt.Sprintf("live %d %d", i, j))
		}
	}
}

func plantSoft404(p *planter)   { p.wall("not found", "") }
func plantLoginWall(p *planter) { p.wall("log in", "/account", "/mail", "/docs") }

// plantCookieWall answers nearly every fetch with a request for consent.
func plantCookieWall(p *planter) {
	for i := range p.between(200, 400) {
		for j, url := range variants(fmt.Sprintf("/page%d", i)) {
			for range 2 {
				if p.IntN(200) < 1 {
					p.fetch(url, fmt.Sprintf("page %d %d", i, j))
				} else {
					p.fetch(url, "consent")
				}
			}
		}
	}
}

// plantPagination answers a page beyond the last with the first one.
func plantPagination(p *planter) {
	for list := range p.between(20, 40) {
		last := p.between(2, 4)
		for page := range p.between(150, 250) {
			shown := page
			if page > last {
				shown = 0
			}
			url := fmt.Sprintf("http://%s/list%d", harmHost, list)
			if page > 0 {
				url += fmt.Sprintf("?page=%d", page+1)
			}
			p.steady(url, fmt.Sprintf("list %d page %d", list, shown))
		}
	}
}

// plantLanguages answers in the language that was asked for where there is a translation,
// else in English.
func plantLanguages(p *planter) {
	translated := p.between(1, 2)
	for page := range p.between(30, 60) {
		p.steady(fmt.Sprintf("http://%s/doc%d", harmHost, page), fmt.Sprintf("doc %d", page))
		for lang := range p.between(100, 140) {
			digest := fmt.Sprintf("doc %d", page)
			if lang < translated {
				digest += fmt.Sprint(" in ", lang)
			}
			p.steady(fmt.Sprintf("http://%s/doc%d?lang=%c%c", harmHost, page, 'a'+lang/26, 'a'+lang%26), digest)
		}
	}
}

// plantCalendar has the same page for each day without an event.
func plantCalendar(p *planter) {
	for room := range p.between(20, 40) {
		p.steady(fmt.Sprintf("http://%s/room%d", harmHost, room), fmt.Sprint("no event in ", room))
		for day := range 365 {
			digest := fmt.Sprint("no event in ", room)
			if day == 60 {
				digest = fmt.Sprintf("event in %d on %d", room, day)
			}
			p.steady(fmt.Sprintf("http://%s/room%d?date=%d", harmHost, room, day), digest)
		}
	}
}

// plantGood plants a site where www and a parameter make URLs but not pages.
func (p *planter) plantGood() {
	for i := range p.between(60, 100) {
		path := fmt.Sprintf("%s/article/%d", goodHost, i)
		digest := "article " + strings.Repeat("x", i)
		p.steady("http://"+path, digest)
		p.steady("http://www."+path, digest)
		p.steady(fmt.Sprintf("http://%s?ref=%d", path, p.IntN(9)), digest)
	}
}

// TestLearnsTheSameAgain: hashes of the index are seeded again each time, and must not show.
func TestLearnsTheSameAgain(t *testing.T) {
	web := foldsWeb
	web.Pages /= 20
	l, _ := logOf(t, web, func([]byte) bool { return true })
	var first string
	for range 3 {
		learned, err := Learn(context.Background(), l)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%+v %+v", learned, runAudit(t, l, Request{Profile: canon.Qiita()}).Forms[0])
		if first == "" {
			first = got
		}
		if got != first || len(learned.Proposals) == 0 {
			t.Fatalf("got\n%s\nthe first time\n%s", got, first)
		}
	}
}

// TestNoiseHidesNoRule: of a site whose fetches have a digest drawn at random in 2 of 100 cases, each URL fetched twice or
// three times, the rules that hold are proposed as if there were no noise: a fold, and a parameter with many values. Where
// the rules change one page in twelve, neither is.
func TestNoiseHidesNoRule(t *testing.T) {
	seeds := uint64(5)
	if os.Getenv("FIRSTSEEN_TORTURE") != "" {
		seeds = 50
	}
	missed, all := 0, 0
	for seed := range seeds {
		p := newPlanter(t, seed)
		good, bad := map[string]bool{}, map[string]bool{}
		for i := range 10 {
			host, wrong := fmt.Sprintf("%d.example", i), i%2 == 1
			for _, rule := range []string{" strip-www", " sid"} {
				if wrong {
					bad[host+rule] = true
				} else {
					good[host+rule] = true
				}
			}
			p.noisySite(host, wrong)
		}
		learned, err := Learn(context.Background(), p.log)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, r := range learned.Proposals {
			name := r.Host + " " + r.What()
			if found[name] = true; bad[name] {
				t.Errorf("seed %d: proposed %s, learned from %d of %d, validated on %d of %d; want nothing", seed, name,
					r.Learned.Held, r.Learned.Pairs, r.Validated.Held, r.Validated.Pairs)
			}
		}
		for name := range good {
			if all++; !found[name] {
				missed++
			}
		}
		for _, c := range learned.LeftOut {
			if good[c.Host+" "+c.What()] {
				t.Logf("seed %d: did not propose %s at %s%s: %s", seed, c.What(), c.Host, c.Path, c.Why)
			}
		}
	}
	t.Logf("missed %d of %d", missed, all)
	if missed*20 > all {
		t.Errorf("missed %d of %d rules that hold; want at most 5 %%", missed, all)
	}
}

// noisySite plants 100 pages, each with www and without, and with 6 values of a parameter. If the rules are wrong, one page in
// twelve is another one by www, and with some value of the parameter.
func (p *planter) noisySite(host string, wrong bool) {
	fetch := func(url, content string) {
		for range p.between(2, 3) {
			if p.IntN(50) == 0 {
				p.fetch(url, fmt.Sprint("noise ", p.Uint64()))
			} else {
				p.fetch(url, content)
			}
		}
	}
	for i := range 100 {
		path, page := fmt.Sprintf("%s/page%d", host, i), fmt.Sprint(host, i)
		differs := wrong && i%12 == 0
		fetch("http://"+path, page)
		www := page
		if differs {
			www += " of www"
		}
		fetch("http://www."+path, www)
		for value := range 6 {
			other := page
			if differs && value == 0 {
				other += " of a value"
			}
			fetch(fmt.Sprintf("http://%s?sid=%d", path, value), other)
		}
	}
}
