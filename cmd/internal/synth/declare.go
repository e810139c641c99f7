package synth

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lie is how the hosts that lie choose the canonical link of their pages.
type Lie string

// The kinds of webs by what their lying hosts declare.
const (
	Honest        Lie = "honest"        // no host lies
	NamesHome     Lie = "home page"     // every page names the home page
	NamesHost     Lie = "http or host"  // every page names http, where another page is, or another host
	NamesPageOne  Lie = "page 1"        // every page of a list names its first
	Contradictory Lie = "contradictory" // every fetch names another page
	IgnoresTruth  Lie = "ignores truth" // with Search and Clean: a parameter that matters is declared not to
)

// Lies lists the kinds.
var Lies = []Lie{Honest, NamesHome, NamesHost, NamesPageOne, Contradictory}

// Way is how the sites of a web declare their duplicates.
type Way string

// The ways to declare. The default is a canonical link.
const (
	BySearch Way = "No-Vary-Search" // names the two parameters that never change the page
	ByClean  Way = "Clean-param"    // the same, in the robots.txt of 60 % of the hosts
)

// DeclareOptions shape a web whose sites declare duplicates. Only the fields
// listed can be set: the rest of the truth is fixed.
type DeclareOptions struct {
	Seed  uint64 // chooses the web
	Way   Way    // how sites declare
	Lie   Lie    // what the hosts that lie declare; Honest or IgnoresTruth with a Way
	Hosts int    // the default is 60
}

// What is fixed of a Declaring web.
const (
	declareShare  = 0.60 // of the clusters of duplicates
	lieShare      = 0.05 // of the hosts, at least one
	changingShare = 0.25 // of the hosts: every fetch has another digest
	changingFetch = 0.02 // of the fetches on the other hosts
	softShare     = 0.02 // of the pages: the host's one excuse
	variantShare  = 0.60 // of a page's possible variants, that are URLs of the web
)

// Declared is one URL of a Declaring web.
type Declared struct {
	URL     string
	Page    uint64 // equal for URLs of one page
	HeldOut bool   // the page is not part of the log
}

// DeclaredFetch is one fetch of the log.
type DeclaredFetch struct {
	Declared
	Time      time.Time
	Digest    string
	Canonical string // absolute; "" where the page declares nothing

	NoVarySearch, CleanParam string
}

// Declaring is a web whose sites declare canonical links, with planted truth. Each host has
// two parameters that never change the page, one that does, one that counts the pages of a
// list, and perhaps a name with www and a second scheme that are the same pages or others.
type Declaring struct {
	opt DeclareOptions
	web Web // for its random numbers
}

// NewDeclaring returns a web.
func NewDeclaring(opt DeclareOptions) *Declaring {
	setInt(&opt.Hosts, 60)
	d := &Declaring{opt: opt}
	d.web.opt.Seed = opt.Seed ^ 0xdec1a7ed
	return d
}

// The tags of a Declaring web.
const (
	tagDeclHost = iota + 100
	tagDeclLie
	tagDeclPage
	tagDeclVariant
	tagDeclFetch
	tagDeclTarget
	tagDeclOrder
)

// declHost is a host, and the truth about it.
type declHost struct {
	rank     uint64
	name     string
	pages    int
	lies     bool
	changing bool
	home     bool // pages are at "/", not at a script
	www      int  // 0: no such host, 1: the same pages, 2: others
	http     int  // the same for http
	params   [4]string
}

// The places of a host's parameters.
const (
	neutral1 = iota
	neutral2
	meaningful
	paging
)

// declNames serve for all four, so that a name alone proves nothing.
var declNames = [...]string{"view", "style", "mode", "ref", "lang", "part", "rev", "from", "page", "start", "sort"}

func (d *Declaring) host(rank int) declHost {
	r := uint64(rank)
	h := declHost{rank: r, name: "site" + strconv.Itoa(rank) + ".example", pages: 60 + int(d.web.hash(tagDeclHost, r, 0)%200)}
	h.lies = d.opt.Lie != Honest && rank%int(1/lieShare) == int(d.opt.Seed)%int(1/lieShare)
	h.changing = unit(d.web.hash(tagDeclHost, r, 1)) < changingShare
	h.home = unit(d.web.hash(tagDeclHost, r, 2)) < 0.2
	h.www = int(d.web.hash(tagDeclHost, r, 3) % 3)
	h.http = int(d.web.hash(tagDeclHost, r, 4) % 3)
	first := d.web.hash(tagDeclHost, r, 5) % uint64(len(declNames))
	for i := range h.params {
		h.params[i] = declNames[(first+uint64(i)*4)%uint64(len(declNames))]
	}
	return h
}

// declPage is a page of a host, and what of it a URL names.
type declPage struct {
	host    declHost
	num     int
	value   int // of the meaningful parameter; 0: without
	number  int // in its list; 0: the first, which has no number
	neutral [2]int
	www     bool
	http    bool
}

// url writes the URL.
func (p declPage) url() string {
	front := "https://"
	if p.http {
		front = "http://"
	}
	if p.www {
		front += "www."
	}
	front += p.host.name + "/"
	if !p.host.home {
		front += [...]string{"shop/", "news/", "docs/"}[p.num%3] + "item.php"
	}
	url := fmt.Sprintf("%s?id=%d", front, p.num)
	for _, v := range []struct{ value, param int }{{p.value, meaningful}, {p.number, paging}, {p.neutral[0], neutral1}, {p.neutral[1], neutral2}} {
		if v.value > 0 {
			url += fmt.Sprintf("&%s=%d", p.host.params[v.param], v.value)
		}
	}
	return url
}

// identity is the truth: what page a URL shows.
func (p declPage) identity() uint64 {
	id := p.host.rank<<40 | uint64(p.num)<<16 | uint64(p.value)<<8 | uint64(p.number)<<4
	if p.www && p.host.www == 2 {
		id |= 2
	}
	if p.http && p.host.http == 2 {
		id |= 1
	}
	return id
}

// own is the page's own URL.
func (p declPage) own() declPage {
	p.neutral = [2]int{}
	p.www = p.www && p.host.www == 2
	p.http = p.http && p.host.http == 2
	return p
}

// Each calls yield with every URL of the web, those of a host together.
func (d *Declaring) Each(yield func(Declared)) {
	d.each(func(p declPage, heldOut bool) { yield(Declared{p.url(), p.identity(), heldOut}) })
}

func (d *Declaring) each(yield func(p declPage, heldOut bool)) {
	for rank := range d.opt.Hosts {
		h := d.host(rank)
		for num := range h.pages {
			d.pageURLs(declPage{host: h, num: num}, func(p declPage) {
				yield(p, d.web.hash(tagDeclPage, h.rank, uint64(num))%2 == 1)
			})
		}
	}
}

// pageURLs calls yield with the URLs of a page, of its list and of what the meaningful
// parameter makes of it.
func (d *Declaring) pageURLs(p declPage, yield func(declPage)) {
	draw := d.web.hash(tagDeclVariant, p.host.rank, uint64(p.num))
	some := func() bool { draw = again(draw); return unit(draw) < variantShare }
	variants := func(p declPage) {
		yield(p)
		for i := range p.neutral {
			if some() {
				v := p
				v.neutral[i] = 1 + int(draw%5)
				yield(v)
			}
		}
		if v := p; some() {
			v.neutral = [2]int{1, 1}
			yield(v)
		}
		if v := p; p.host.www > 0 && some() {
			v.www = true
			yield(v)
		}
		if v := p; p.host.http > 0 && some() {
			v.http = true
			yield(v)
		}
	}
	variants(p)
	for value := 1; value <= 2; value++ {
		if v := p; some() {
			v.value = value
			variants(v)
		}
	}
	for number := 2; number <= 3; number++ {
		if v := p; some() {
			v.number = number
			variants(v)
		}
	}
}

// Fetches calls yield with the log: every URL that is not held out, fetched the given
// number of times, a day apart.
func (d *Declaring) Fetches(times int, yield func(DeclaredFetch)) {
	d.each(func(p declPage, heldOut bool) {
		if heldOut {
			return
		}
		url := p.url()
		at := start.Add(time.Duration(d.web.hash(tagDeclOrder, hashText(url), 0)%86_400) * time.Second)
		for fetch := range times {
			f := DeclaredFetch{Declared: Declared{url, p.identity(), false}, Time: at.Add(time.Duration(fetch) * 24 * time.Hour), Digest: d.digest(p, url, uint64(fetch))}
			switch {
			case d.opt.Way == "":
				f.Canonical = d.canonical(p, url, uint64(fetch))
			case d.opt.Way == BySearch && (p.host.lies || unit(d.web.hash(tagDeclTarget, p.identity(), 0)) < declareShare):
				f.NoVarySearch = `params=("` + strings.Join(p.host.ignored(), `" "`) + `")`
			}
			yield(f)
		}
	})
	if d.opt.Way == ByClean {
		d.robots(yield)
	}
}

// robots calls yield with the robots.txt of the hosts.
func (d *Declaring) robots(yield func(DeclaredFetch)) {
	for rank := range d.opt.Hosts {
		h := d.host(rank)
		f := DeclaredFetch{Declared: Declared{"https://" + h.name + "/robots.txt", h.rank<<40 | 1<<63, false}, Time: start, Digest: h.name}
		if h.lies || unit(d.web.hash(tagDeclTarget, h.rank, 1)) < declareShare {
			f.CleanParam = strings.Join(h.ignored(), "&")
		}
		yield(f)
	}
}

// ignored returns the parameters that the host declares not to matter.
func (h *declHost) ignored() []string {
	if h.lies {
		return h.params[neutral1 : meaningful+1]
	}
	return h.params[neutral1:meaningful]
}

func hashText(s string) (h uint64) {
	for i := range len(s) {
		h = mix(h ^ uint64(s[i]))
	}
	return h
}

func (d *Declaring) digest(p declPage, url string, fetch uint64) string {
	content := mix(p.identity())
	if unit(d.web.hash(tagDeclPage, p.identity(), 2)) < softShare {
		content = mix(p.host.rank ^ 1<<63)
	}
	if p.host.changing || unit(d.web.hash(tagDeclFetch, hashText(url), fetch)) < changingFetch {
		content = mix(content ^ hashText(url) ^ mix(fetch+1))
	}
	var digest [32]byte
	encode(&digest, content)
	return string(digest[:])
}

// canonical is what a fetch declares.
func (d *Declaring) canonical(p declPage, url string, fetch uint64) string {
	if p.host.lies {
		if lie, ok := d.lie(p, url, fetch); ok {
			return lie
		}
	}
	if unit(d.web.hash(tagDeclTarget, p.identity(), 0)) >= declareShare {
		return ""
	}
	return p.own().url()
}

// lie returns the wrong declaration of a lying host, or false if the declaration is right.
func (d *Declaring) lie(p declPage, url string, fetch uint64) (string, bool) {
	switch d.opt.Lie {
	case NamesHome:
		return "https://" + p.host.name + "/", true
	case NamesHost:
		if p.host.http == 2 {
			p = p.own()
			p.http = true
			return p.url(), true
		}
		p = p.own()
		p.host.name = "elsewhere" + strconv.Itoa(int(p.host.rank%7)) + ".example"
		return p.url(), true
	case NamesPageOne:
		p = p.own()
		p.number = 0
		return p.url(), true
	case Contradictory:
		draw := d.web.hash(tagDeclTarget, hashText(url), fetch+1)
		if p = p.own(); draw%2 == 0 {
			p.num = int(again(draw) % uint64(p.host.pages))
		} else if p.value, p.number = int(draw>>8%3), 0; draw>>16%2 == 0 {
			p.neutral[0] = 1
		}
		return p.url(), true
	}
	return "", false
}
