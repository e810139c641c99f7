package synth

import (
	"fmt"
	"strings"
)

// What is fixed of the shop and the forum of HonestParams.
const (
	paramCategories = 20
	paramLists      = 10 // pages of a category, in each of three orders
	paramForums     = 10
	paramTopics     = 30 // of a forum, with three pages each
	paramPages      = 2 + 3*paramCategories*paramLists + paramForums*(1+3*paramTopics)
)

var paramOrders = []string{"name", "price", "date"}

// params returns a page of the shop or of the forum. Of the copies, half show the same for each host, as pages
// without content do, and half are equal in threes: a listing in its three orders, or the pages of a topic.
func (h trapHost) params(path string) TrapPage {
	var a, b, start int
	var order string
	list := func(category, page int, order string) string {
		url := fmt.Sprintf("%s/list?cat=%d&page=%d&sort=%s", h.base, category, page, order)
		if h.w.opt.Sets > 1 {
			url += fmt.Sprintf("&with%d=1", category%h.w.opt.Sets)
		}
		return url
	}
	topic := func(forum, topic, page int) string {
		return strings.TrimSuffix(fmt.Sprintf("%s/viewtopic?f=%d&t=%d&start=%d", h.base, forum, topic, page*10), "&start=0")
	}
	p := h.page(path)
	switch {
	case path == "/shop":
		for i := range paramCategories {
			p.Links = append(p.Links, list(i, 1, paramOrders[0]))
		}
		return p
	case path == "/board":
		for i := range paramForums {
			p.Links = append(p.Links, fmt.Sprintf("%s/viewforum?f=%d", h.base, i))
		}
		return p
	case scans(path, "/viewforum?f=%d", &a):
		for i := range paramTopics {
			p.Links = append(p.Links, topic(a, i, 0))
		}
		return p
	case scans(path, "/list?cat=%d&page=%d&sort=%s", &a, &b, &order):
		order, _, _ = strings.Cut(order, "&")
		for _, order := range paramOrders {
			p.Links = append(p.Links, list(a, b, order))
		}
		if b < paramLists {
			p.Links = append(p.Links, list(a, b+1, order))
		}
		return h.copied(p, a*1000+b)
	case scans(path, "/viewtopic?f=%d&t=%d", &a, &b):
		scans(path, "/viewtopic?f=%d&t=%d&start=%d", &a, &b, &start)
		for i := range 3 {
			p.Links = append(p.Links, topic(a, b, i))
		}
		return h.copied(p, 1_000_000+a*1000+b)
	}
	return TrapPage{}
}

// copied returns a page, or a copy by the share of copies. Pages of one group are equal in some groups.
func (h trapHost) copied(p TrapPage, group int) TrapPage {
	hash := h.w.web.hash(tagTrap, uint64(h.rank)+100, uint64(group))
	if unit(hash) < 0.75*float64(h.w.opt.Copies)/100 { // two of three pages are copies
		p.Digest = fmt.Sprintf("%s group %d", h.base, group)
	}
	for i := range len(p.Real) {
		hash = mix(hash ^ uint64(p.Real[i]))
	}
	if unit(hash) < 0.5*float64(h.w.opt.Copies)/100 {
		p.Digest = h.base + " nothing"
	}
	return p
}

// scans reports whether a path has a format.
func scans(path, format string, values ...any) bool {
	n, err := fmt.Sscanf(path, format, values...)
	return n == len(values) && err == nil
}
