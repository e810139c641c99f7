package declared

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/firstseen/firstseen/canon"
)

// MaxHTML is how much of a page is searched for a canonical link, in bytes.
const MaxHTML = 64 << 10

// maxURL bounds a declared URL in bytes.
const maxURL = 8 << 10

// HTMLCanonical returns the canonical link in the head of a page, as an absolute URL without
// its fragment; "" if there is none (RFC 6596, section 3; HTML Standard, 4.6.7.5). It searches
// the first [MaxHTML] bytes. Links outside of the head are not looked at, because visitors
// may write there, nor are those with media, hreflang or type, which name alternatives. Links that
// name several URLs are refused.
func HTMLCanonical(page, contentType string, body []byte) (string, error) {
	canonical, _, err := readHead(page, contentType, body)
	return canonical, err
}

// readHead returns the canonical link in the head of a page, and what its head says to robots.
func readHead(page, contentType string, body []byte) (canonical string, robots []string, err error) {
	r, err := charset.NewReader(bytes.NewReader(body[:min(len(body), MaxHTML)]), contentType)
	if errors.Is(err, io.EOF) { // of an empty page
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot read the canonical link of %.200q: %w", page, err)
	}
	links, robots, base := headLinks(r)
	if len(links) == 0 {
		return "", robots, nil
	}
	if base != "" {
		if base, err = resolve(page, base); err != nil {
			return "", robots, fmt.Errorf("cannot use the canonical link of %.200q; its base is broken: %w", page, err)
		}
		page = base
	}
	canonical, err = oneOf(page, links)
	return canonical, robots, err
}

// headElements are what the head of a page holds, and what leads to it (HTML Standard, 13.2.6.4.4).
var headElements = []string{"html", "head", "base", "basefont", "bgsound", "link", "meta", "noscript", "script", "style", "template", "title", "noframes"}

// headLinks returns the targets of the canonical links in the head of a page, what its elements named robots say, and its base.
func headLinks(r io.Reader) (links, robots []string, base string) {
	in := html.NewTokenizer(r)
	in.SetMaxBuf(MaxHTML * 4) // UTF-8 can take more bytes than the original encoding
	inert, based := 0, false
	for {
		switch in.Next() {
		case html.ErrorToken:
			return links, robots, base
		case html.StartTagToken, html.SelfClosingTagToken:
			t := in.Token()
			switch {
			case !slices.Contains(headElements, t.Data):
				return links, robots, base
			case t.Data == "template":
				inert++
			case inert > 0:
			case t.Data == "base" && !based:
				base, based = attr(t, "href")
			case t.Data == "link" && isCanonical(t):
				href, _ := attr(t, "href")
				links = append(links, href)
			case t.Data == "meta":
				if name, _ := attr(t, "name"); strings.EqualFold(name, "robots") {
					content, _ := attr(t, "content")
					robots = append(robots, content)
				}
			}
		case html.EndTagToken:
			switch name, _ := in.TagName(); string(name) {
			case "head", "body", "html":
				return links, robots, base
			case "template":
				inert = max(0, inert-1)
			}
		}
	}
}

// linksDigest returns a digest of where the links of a page lead, as they are written but for fragments, in whatever order and however often. Pages of one
// template are compared by it, so it need not read HTML as browsers do, which takes seven times as long as the rest of [Of]: it finds a
// link or takes what it cannot read whole.
func linksDigest(body []byte) uint64 {
	sum, seen, h := uint64(1), map[uint64]bool{}, fnv.New64a()
	for found := true; found; {
		_, body, found = bytes.Cut(body, []byte("<"))
		if len(body) < 5 || body[0]|0x20 != 'a' || body[1] > ' ' && !bytes.EqualFold(body[:4], []byte("area")) {
			continue
		}
		tag, _, _ := bytes.Cut(body, []byte(">"))
		target, _, _ := bytes.Cut(hrefOf(tag), []byte("#"))
		h.Reset()
		_, _ = h.Write(target) // a hash cannot fail
		if link := h.Sum64(); !seen[link] {
			seen[link] = true
			sum += link
		}
	}
	return sum
}

// hrefOf returns the value of the attribute href of a tag, or all of the tag.
func hrefOf(tag []byte) []byte {
	for i := 1; i+5 < len(tag); i++ {
		if tag[i-1] > ' ' || !bytes.EqualFold(tag[i:i+4], []byte("href")) {
			continue
		}
		value, ok := bytes.CutPrefix(bytes.TrimSpace(tag[i+4:]), []byte("="))
		if value = bytes.TrimSpace(value); !ok || len(value) == 0 {
			continue
		}
		if quote := value[0]; quote == '"' || quote == '\'' {
			value, _, _ = bytes.Cut(value[1:], []byte{quote})
		} else if end := bytes.IndexAny(value, " \t\r\n\f"); end >= 0 {
			value = value[:end]
		}
		return bytes.TrimSpace(value)
	}
	return tag
}

func isCanonical(t html.Token) bool {
	for _, name := range []string{"media", "hreflang", "type"} {
		if _, ok := attr(t, name); ok {
			return false
		}
	}
	rel, _ := attr(t, "rel")
	return hasCanonical(rel)
}

// hasCanonical reports whether one of the relations, with spaces between them, is "canonical".
func hasCanonical(rel string) bool {
	return slices.ContainsFunc(strings.Fields(rel), func(r string) bool { return strings.EqualFold(r, "canonical") })
}

// attr returns an attribute's value, of several the first.
func attr(t html.Token, name string) (string, bool) {
	for _, a := range t.Attr {
		if a.Namespace == "" && a.Key == name {
			return strings.Trim(a.Val, " \t\r\n\f"), true
		}
	}
	return "", false
}

// LinkCanonical returns the canonical link of the Link fields of a response (RFC 8288, section
// 3), as an absolute URL without its fragment; "" if there is none. Links of another context
// ("anchor") are not looked at.
func LinkCanonical(page string, fields ...string) (string, error) {
	var links []string
	for _, field := range fields {
		for _, l := range parseLinks(field) {
			if hasCanonical(l.rel) && l.anchor == "" {
				links = append(links, l.target)
			}
		}
	}
	if len(links) == 0 {
		return "", nil
	}
	return oneOf(page, links)
}

// oneOf returns the one URL that all links name.
func oneOf(base string, links []string) (string, error) {
	found := ""
	for _, link := range links {
		target, err := resolve(base, link)
		switch {
		case err != nil:
			return "", fmt.Errorf("cannot use the canonical link %.200q: %w", link, err)
		case found != "" && found != target:
			return "", fmt.Errorf("cannot use the canonical links: they name both %.200q and %.200q", found, target)
		}
		found = target
	}
	return found, nil
}

// resolve makes a link absolute. It refuses a link that is not an http or https URL.
func resolve(base, link string) (string, error) {
	switch {
	case link == "":
		return "", errors.New("it is empty")
	case len(link) > maxURL:
		return "", fmt.Errorf("got %d bytes; want at most %d", len(link), maxURL)
	}
	b, err := canon.ParseBase(base)
	if err != nil {
		return "", fmt.Errorf("cannot resolve it: %w", err)
	}
	form, err := canon.WHATWG().Canonicalize(b.Resolve(link))
	if err != nil {
		return "", err
	}
	if scheme, _, _ := strings.Cut(form, ":"); scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("got scheme %.20q; want http or https", scheme)
	}
	form, _, _ = strings.Cut(form, "#")
	return form, nil
}

// link is one link of a Link field: what of it is looked at.
type link struct{ target, rel, anchor string }

// parseLinks parses a Link field as RFC 8288, appendix B.2, does: of a broken one it returns
// what stands before the fault. Of several "rel" and "anchor" the first counts.
func parseLinks(s string) (links []link) {
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" || s[0] != '<' {
			return links
		}
		target, rest, ok := strings.Cut(s[1:], ">")
		if !ok {
			return links
		}
		l := link{target: strings.TrimSpace(target)}
		s = l.params(rest)
		links = append(links, l)
	}
}

// params reads the parameters of a link, and returns what follows them.
func (l *link) params(s string) string {
	seen := map[string]bool{}
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != ';' {
			return s
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			end = len(s)
		}
		name, value := strings.ToLower(strings.TrimRight(s[:end], " \t")), ""
		if s = s[end:]; s != "" && s[0] == '=' {
			value, s = paramValue(strings.TrimLeft(s[1:], " \t"))
		}
		if seen[name] {
			continue
		}
		switch seen[name] = true; name {
		case "rel":
			l.rel = value
		case "anchor":
			l.anchor = value
		}
	}
}

// paramValue reads a token or a quoted string.
func paramValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimRight(s[:end], " \t"), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
