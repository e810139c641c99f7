// Package declared reads what sites declare of their duplicates, and of pages that are not worth a fetch:
//
//   - canonical links (RFC 6596), in the Link header (RFC 8288) or in HTML;
//   - the response header No-Vary-Search (draft-ietf-httpbis-no-vary-search);
//   - Clean-param lines in robots.txt (as Yandex documents them);
//   - noindex and nofollow, in X-Robots-Tag or in HTML.
//
// It opens no connection: the caller passes the response.
//
// A declaration is evidence, not a fact. Wrong ones are common, and a canonical link to another
// site can be an attack. So do not skip a fetch because of one declaration; [Unlisted] leaves
// out pages of which several of their kind declare the same, and show it. The package returns an
// error for an invalid declaration: several canonical links that disagree, or a header that the
// draft calls invalid.
//
// [Of] reads all declarations of a response; [Digest] makes a digest of what a visitor sees of it, and [Masked] one without what its URL tells.
// Report them with the result of the fetch:
//
//	page := declared.Of(url, response.Header, body)
//	settlement.Fetched = &frontier.Fetched{Status: 200, Digest: declared.Digest(contentType, body),
//		Masked: declared.Masked(url, contentType, body), Unlisted: page.Unlisted, Canonical: page.Canonical,
//		NoVarySearch: page.NoVarySearch, CleanParam: page.CleanParam}
package declared

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Page is what a response declares, in the form in which frontier.Fetched takes it.
type Page struct {
	// Canonical is the canonical link, absolute; "" for none.
	Canonical string
	// NoVarySearch is the field in the form of [Search.String]; "" for none.
	NoVarySearch string
	// CleanParam are the rules of a robots.txt in the form of [CleanParam.String], a line each;
	// "" for none.
	CleanParam string
	// Unlisted is set if the response asks robots neither to index it nor to follow its links, by X-Robots-Tag or by meta name=robots.
	Unlisted bool
	// Links is a digest of where the links of a page of HTML with a canonical link lead, in whatever order; 0 if that is not known, as of other pages.
	Links uint64
	// SignIn is a digest of what a visitor sees of a page of HTML with a field for a password; 0 for other pages.
	SignIn uint64
	// Refused joins the reasons for which declarations were left out.
	Refused error
}

// Of reads the declarations of a successful response: its header, whose names have any case, and
// its body, decoded. Of HTML it reads the first 64 KiB, and all of a page that has a canonical link; of a robots.txt it reads the whole body.
func Of(page string, header map[string][]string, body []byte) Page {
	var p Page
	if values := fields(header, "No-Vary-Search"); len(values) > 0 {
		search, err := ParseNoVarySearch(values...)
		p.NoVarySearch = search.String()
		p.refuse(err)
	}
	link, linkErr := LinkCanonical(page, fields(header, "Link")...)
	p.refuse(linkErr)
	contentType := strings.Join(fields(header, "Content-Type"), ",")
	robots := fields(header, "X-Robots-Tag")
	inHTML, htmlErr := "", error(nil)
	isHTML := strings.Contains(strings.ToLower(contentType), "html")
	if isHTML {
		var inHead []string
		inHTML, inHead, htmlErr = readHead(page, contentType, body)
		p.refuse(htmlErr)
		robots = append(robots, inHead...)
	}
	p.Unlisted = isUnlisted(robots)
	switch {
	case linkErr != nil || htmlErr != nil:
	case link != "" && inHTML != "" && link != inHTML:
		p.refuse(fmt.Errorf("cannot use the canonical links: the Link header names %.200q, the page %.200q", link, inHTML))
	default:
		p.Canonical = cmp.Or(link, inHTML)
	}
	if isHTML {
		p.SignIn = signInDigest(contentType, body)
	}
	if p.Canonical != "" && isHTML {
		p.Links = linksDigest(body)
	}
	if IsRobots(page) {
		rules, err := CleanParams(body)
		p.refuse(err)
		lines := make([]string, len(rules))
		for i, rule := range rules {
			lines[i] = rule.String()
		}
		p.CleanParam = strings.Join(lines, "\n")
	}
	return p
}

func (p *Page) refuse(err error) { p.Refused = errors.Join(p.Refused, err) }

// fields returns the values of a header.
func fields(header map[string][]string, name string) (values []string) {
	for key, v := range header {
		if strings.EqualFold(key, name) {
			values = append(values, v...)
		}
	}
	return values
}

// IsRobots reports whether a URL is that of a robots.txt.
func IsRobots(page string) bool {
	_, rest, ok := strings.Cut(page, "://")
	_, path, slash := strings.Cut(rest, "/")
	return ok && slash && path == "robots.txt"
}
