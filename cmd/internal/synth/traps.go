package synth

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Trap is an endless part of the hosts of a TrapWeb, or one that looks endless.
type Trap string

// The kinds of webs by their traps.
const (
	TrapFacets   Trap = "facets"          // listings of a shop by every combination of filters
	TrapCalendar Trap = "calendar"        // months without events, each with a link to the next
	TrapSessions Trap = "session ids"     // the pages of the site once more for each session
	HonestDeep   Trap = "deep archive"    // no trap: 1,500 pages of one template, one after another
	HonestMirror Trap = "archive, copies" // the same, where one page in four is a copy of an earlier one
	HonestParams Trap = "shop and forum"  // no trap: listings and topics by two or three parameters
	HonestNumber Trap = "numbers"         // no trap: prices, rates and temperatures, whose pages differ in numbers alone
)

// TrapKinds lists the kinds.
var TrapKinds = []Trap{TrapFacets, TrapCalendar, TrapSessions, HonestDeep, HonestMirror, HonestParams, HonestNumber}

// TrapOptions shape a TrapWeb. Only the fields listed can be set: the rest of the truth is fixed.
type TrapOptions struct {
	Seed   uint64
	Kind   Trap
	Hosts  int // the default is 6
	Copies int // per cent of the pages of HonestParams; the default is 5
	Sets   int // of parameters that the listings of HonestParams have; the default is 1
}

// What is fixed of a TrapWeb, for each host.
const (
	trapSections = 10
	trapArticles = 30 // of a section
	trapProducts = 60 // of a shop
	trapValues   = 6  // of a filter
	trapMonths   = 12 // with events
	trapArchive  = 1500
)

// TrapPage is what a fetch of a URL returns.
type TrapPage struct {
	Digest    string // "" if there is no such page
	Canonical string // that the page declares; "" for none
	Links     []string
	Text      string // that it shows, if it has numbers; "" for words alone, which differ if the digests do
	InTrap    bool   // fetching it is a waste
	Real      string // the page, equal for URLs of one page; "" in a trap
}

// HTML returns what a browser gets of a page with a text.
func (p *TrapPage) HTML() []byte {
	return []byte("<html><head><title>A site</title></head><body><p>Home, contact, imprint and the terms of use of a site whose pages all begin with these words and end with others.</p>" + p.Text + "</body></html>")
}

// TrapWeb is a web whose hosts have an honest part, linked from the home page, and a trap that
// every page links to. Half of the hosts of a calendar print the month, so that no two months
// have one content; half of the shops declare a canonical link without the order of the listing.
type TrapWeb struct {
	opt TrapOptions
	web Web // for its random numbers
}

// NewTrapWeb returns a web.
func NewTrapWeb(opt TrapOptions) *TrapWeb {
	setInt(&opt.Hosts, 6)
	setInt(&opt.Copies, 5)
	w := &TrapWeb{opt: opt}
	w.web.opt.Seed = opt.Seed ^ 0x7a9b
	return w
}

// Honest reports whether the web has no trap.
func (w *TrapWeb) Honest() bool {
	return w.opt.Kind == HonestDeep || w.opt.Kind == HonestMirror || w.opt.Kind == HonestParams || w.opt.Kind == HonestNumber
}

// Pages returns how many pages the honest part and the archive have, or the shop and the forum.
func (w *TrapWeb) Pages() int {
	n := 1 + trapSections*(1+trapArticles) + trapArchive
	if w.opt.Kind == HonestParams {
		n += paramPages - trapArchive
	}
	return n * w.opt.Hosts
}

// Archives returns the first page of each archive.
func (w *TrapWeb) Archives() (urls []string) {
	for i := range w.opt.Hosts {
		if w.opt.Kind != HonestParams {
			urls = append(urls, trapHost{w, i, w.base(i)}.archived(0))
		}
	}
	return urls
}

// Seeds returns the home pages.
func (w *TrapWeb) Seeds() (urls []string) {
	for i := range w.opt.Hosts {
		urls = append(urls, w.base(i)+"/")
	}
	return urls
}

func (w *TrapWeb) base(host int) string {
	return fmt.Sprintf("http://site%d-%d.example", host, w.opt.Seed)
}

const tagTrap = 200

// trapHost is one host, and the path of a URL on it.
type trapHost struct {
	w    *TrapWeb
	rank int
	base string
}

// Page returns what a fetch of a URL returns. The session of a link depends on the URL and
// the number of the fetch.
func (w *TrapWeb) Page(url string, fetch int) TrapPage {
	rest := strings.TrimPrefix(url, "http://site")
	number, _, _ := strings.Cut(rest, "-")
	rank, err := strconv.Atoi(number)
	if err != nil || rank >= w.opt.Hosts {
		return TrapPage{}
	}
	h := trapHost{w, rank, w.base(rank)}
	path := strings.TrimPrefix(url, h.base)
	if session, ok := strings.CutPrefix(path, "/s/"); ok && w.opt.Kind == TrapSessions {
		_, path, _ = strings.Cut(session, "/")
		page := h.honest("/"+path, fetch)
		page.InTrap, page.Real = page.Digest != "", ""
		for i, link := range page.Links { // all links of a session stay in one
			if !strings.Contains(link, "/s/") {
				page.Links[i] = h.session(link, fetch, i)
			}
		}
		return page
	}
	switch {
	case w.opt.Kind == TrapFacets && (strings.HasPrefix(path, "/shop") || strings.HasPrefix(path, "/product/")):
		return h.shop(path)
	case w.opt.Kind == TrapCalendar && strings.HasPrefix(path, "/events/"):
		return h.calendar(path)
	case w.opt.Kind == HonestParams && (path == "/shop" || path == "/board" || strings.HasPrefix(path, "/list?") || strings.HasPrefix(path, "/view")):
		return h.params(path)
	case strings.HasPrefix(path, "/archive/"):
		return h.archive(path)
	}
	return h.honest(path, fetch)
}

func (h trapHost) page(name string, links ...string) TrapPage {
	p := TrapPage{Digest: h.base + name, Links: links, Real: h.base + name}
	if h.w.opt.Kind == HonestNumber {
		hash := h.w.web.hash(tagTrap, uint64(h.rank), 11)
		for _, c := range []byte(name) {
			hash = mix(hash ^ uint64(c))
		}
		if p.Text = fmt.Sprintf("It costs %d.%02d euros, and %d are left.", hash%2000, hash>>20%100, hash>>30%50); h.rank%2 == 1 && strings.HasPrefix(name, "/archive/") {
			year, day, _ := strings.Cut(strings.TrimPrefix(name, "/archive/"), "/")
			p.Text = fmt.Sprintf("In %s on %.5s the highest temperature was %d degrees.", year, day, hash%40)
			p.Digest = h.base + p.Text
		}
	}
	return p
}

// honest returns a page of the honest part: home, sections, articles.
func (h trapHost) honest(path string, fetch int) TrapPage {
	var section, article int
	switch n, _ := fmt.Sscanf(path, "/section/%d/the-long-title-of-article-%d", &section, &article); {
	case path == "/":
		p := h.page(path)
		for i := range trapSections {
			p.Links = append(p.Links, fmt.Sprintf("%s/section/%d", h.base, i))
		}
		return h.entrance(p, path, fetch)
	case n == 1 && section < trapSections && path == fmt.Sprintf("/section/%d", section):
		p := h.page(path)
		for i := range trapArticles {
			p.Links = append(p.Links, fmt.Sprintf("%s/section/%d/the-long-title-of-article-%d", h.base, section, i))
		}
		return h.entrance(p, path, fetch)
	case n == 2 && section < trapSections && article < trapArticles:
		return h.entrance(h.page(path, h.base+"/"), path, fetch)
	}
	return TrapPage{}
}

// entrance adds the links of a page into the trap, or to the archive.
func (h trapHost) entrance(p TrapPage, path string, fetch int) TrapPage {
	switch h.w.opt.Kind {
	case TrapFacets:
		p.Links = append(p.Links, h.base+"/shop")
	case TrapCalendar:
		p.Links = append(p.Links, h.base+"/events/2026-01")
	case TrapSessions:
		for i := range 3 {
			p.Links = append(p.Links, h.session(h.base+path, fetch, 100+i))
		}
	case HonestParams:
		p.Links = append(p.Links, h.base+"/shop", h.base+"/board")
	default:
		p.Links = append(p.Links, h.archived(0))
	}
	return p
}

// session returns a link with a session of its own.
func (h trapHost) session(link string, fetch, i int) string {
	id := h.w.web.hash(tagTrap, uint64(fetch), uint64(h.rank*1000+i))
	return fmt.Sprintf("%s/s/%016x%s", h.base, id, strings.TrimPrefix(link, h.base))
}

var trapFilters = [...]string{"brand", "color", "size", "sort"}

// shop returns a listing, or a product. Each filter has six values, and the last parameter is the order.
func (h trapHost) shop(path string) TrapPage {
	if n, ok := strings.CutPrefix(path, "/product/"); ok {
		if i, err := strconv.Atoi(n); err != nil || i >= trapProducts {
			return TrapPage{}
		}
		return h.page(path, h.base+"/shop")
	}
	chosen := map[string]int{}
	_, query, _ := strings.Cut(path, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if n, err := strconv.Atoi(value); err == nil {
			chosen[name] = n
		}
	}
	p := TrapPage{Digest: h.base + " list"}
	shown := 0
	for product := range trapProducts {
		if !h.shows(product, chosen) {
			continue
		}
		shown++
		p.Digest += " " + strconv.Itoa(product)
		p.Links = append(p.Links, fmt.Sprintf("%s/product/%d", h.base, product))
	}
	if shown > 1 { // the order shows
		p.Digest += " by " + strconv.Itoa(chosen["sort"])
	}
	for _, name := range trapFilters {
		for value := range trapValues {
			p.Links = append(p.Links, h.listing(chosen, name, value))
		}
	}
	if len(chosen) < 2 {
		p.Real = h.base + path
	} else {
		p.InTrap = true
	}
	if h.rank%2 == 0 {
		p.Canonical = h.listing(chosen, "sort", -1)
	}
	return p
}

func (h trapHost) shows(product int, chosen map[string]int) bool {
	for i, name := range trapFilters[:3] {
		if want, ok := chosen[name]; ok && int(h.w.web.hash(tagTrap, uint64(h.rank*100+i), uint64(product))%trapValues) != want {
			return false
		}
	}
	return true
}

// listing returns the URL of a listing with one filter changed; -1 takes it away.
func (h trapHost) listing(chosen map[string]int, change string, to int) string {
	var pairs []string
	for _, name := range trapFilters {
		value, ok := chosen[name]
		if name == change {
			value, ok = to, to >= 0
		}
		if ok {
			pairs = append(pairs, name+"="+strconv.Itoa(value))
		}
	}
	if len(pairs) == 0 {
		return h.base + "/shop"
	}
	return h.base + "/shop?" + strings.Join(pairs, "&")
}

// calendar returns a month or a day. The first twelve months have events.
func (h trapHost) calendar(path string) TrapPage {
	var year, month, day int
	n, _ := fmt.Sscanf(path, "/events/%d-%d-%d", &year, &month, &day)
	at := (year-2026)*12 + month - 1
	if n < 2 || month < 1 || month > 12 || day > 28 {
		return TrapPage{}
	}
	p := TrapPage{Digest: h.base + " no events", Text: "There are no events."}
	if h.rank%2 == 0 {
		p.Digest += path
		p.Text = calendarText(year, time.Month(month), day)
	}
	if at >= 0 && at < trapMonths && (n == 2 || day%7 == 0) {
		p = h.page(path)
	} else {
		p.InTrap = true
	}
	if n == 3 {
		p.Links = []string{h.base + "/"}
		return p
	}
	next := func(at int) string { return fmt.Sprintf("%s/events/%04d-%02d", h.base, 2026+at/12, at%12+1) }
	p.Links = append(p.Links, next(at+1))
	if at > 0 {
		p.Links = append(p.Links, next(at-1))
	}
	for day := range 28 {
		p.Links = append(p.Links, fmt.Sprintf("%s-%02d", next(at), day+1))
	}
	return p
}

// calendarText is what a day without events shows, or with day 0 a month.
func calendarText(year int, month time.Month, day int) string {
	date := time.Date(year, month, max(day, 1), 0, 0, 0, 0, time.UTC)
	if day > 0 {
		return date.Format("There are no events on Monday, January 2, 2006. See ") + date.AddDate(0, 0, 1).Format("Jan 2")
	}
	text := date.Format("There are no events in January 2006. Mo Tu We Th Fr Sa Su")
	for at := date.AddDate(0, 0, -(int(date.Weekday())+6)%7); at.Before(date.AddDate(0, 1, 0)); at = at.AddDate(0, 0, 1) {
		text += at.Format(" 2")
	}
	return text + date.AddDate(0, 1, 0).Format(" See January 2006")
}

func (h trapHost) archived(i int) string {
	return fmt.Sprintf("%s/archive/%04d/%02d/%02d/what-happened-on-that-day-%d", h.base, 2000+i/336, i/28%12+1, i%28+1, i)
}

// archive returns a page of the archive, with links to the five that follow.
func (h trapHost) archive(path string) TrapPage {
	i, err := strconv.Atoi(path[strings.LastIndexByte(path, '-')+1:])
	if err != nil || i >= trapArchive || h.base+path != h.archived(i) {
		return TrapPage{}
	}
	p := h.page(path)
	if h.w.opt.Kind == HonestMirror && i > 0 && h.w.web.hash(tagTrap, uint64(h.rank), uint64(i))%4 == 0 {
		p.Digest = h.archived(int(h.w.web.hash(tagTrap, uint64(i), 7) % uint64(i)))
	}
	for next := i + 1; next <= i+5 && next < trapArchive; next++ {
		p.Links = append(p.Links, h.archived(next))
	}
	return p
}
