package main

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// link is a link of a page that a visitor can click on.
type link struct {
	url      string // absolute, without its fragment
	nofollow bool   // it is marked so, or its page is
}

// linksOf returns the links of a page: what the link extractors of Scrapy, colly and Crawlee follow by default, a and
// area with href.
func linksOf(page string, a *answer) (links []link) {
	if !strings.Contains(a.Header.Get("Content-Type"), "html") {
		return nil
	}
	base, err := url.Parse(page)
	if err != nil {
		return nil
	}
	whole := strings.Contains(a.Header.Get("X-Robots-Tag"), "nofollow")
	for z := html.NewTokenizer(bytes.NewReader(a.Body)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			for i := range links {
				links[i].nofollow = links[i].nofollow || whole
			}
			return links
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := z.Token()
		attr := func(name string) string {
			for _, a := range t.Attr {
				if a.Key == name {
					return strings.TrimSpace(a.Val)
				}
			}
			return ""
		}
		href := attr("href")
		switch t.Data {
		case "base":
			if u, err := base.Parse(href); err == nil && href != "" {
				base = u
			}
		case "meta":
			if strings.EqualFold(attr("name"), "robots") && (strings.Contains(attr("content"), "nofollow") || strings.Contains(attr("content"), "none")) {
				whole = true
			}
		case "a", "area":
			u, err := base.Parse(href)
			if err != nil || href == "" || u.Scheme != "http" && u.Scheme != "https" {
				continue
			}
			u.Fragment, u.RawFragment = "", ""
			links = append(links, link{u.String(), strings.Contains(attr("rel"), "nofollow")})
		}
	}
}
