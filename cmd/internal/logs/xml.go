package logs

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"

	"github.com/firstseen/firstseen/canon"
)

// Bounds on a sitemap. The protocol's own are 50 MB, 50,000 URLs and 2,048 characters a
// URL; longer sitemaps are read, longer URLs are not.
const (
	maxXMLToken = 1 << 20 // bytes
	maxXMLDepth = 100
)

// xml reads the locations of a sitemap, or of the sitemaps of an index (sitemaps.org, protocol 0.9), of a feed (RSS, Atom), of OPML or of a
// browser's bookmarks, as links; or the items that Burp Suite exports, which have statuses. Sitemaps are made by hand and by programs that don't know XML, so the
// decoder is lenient: a bare "&" stands for itself, and HTML's entities are known.
func (s *sink) xml(f *File) error {
	in := &tokenReader{r: f.Reader(), most: maxXMLToken}
	d := xml.NewDecoder(in)
	d.CharsetReader, d.Strict, d.Entity = charset, false, xml.HTMLEntity
	x := xmlEntries{bases: []string{s.opt.Base}}
	if s.opt.Base == DefaultBase {
		x.bases[0] = ""
	}
	for !s.stopped {
		in.left = maxXMLToken
		t, err := d.RawToken()
		if err == io.EOF && x.depth == 0 {
			return nil
		}
		if err == nil {
			err = x.token(t)
		}
		if err != nil {
			if x.had && x.text["loc"] != "" { // the entry was cut off behind its location
				s.entry(x.text)
			}
			return fmt.Errorf("cannot read %s beyond URL %d: %w", f.Name, s.number, short(err))
		}
		if x.found != nil {
			s.entry(x.found)
			x.found = nil
		}
	}
	return nil
}

// entry reads what an entry has: its elements by their names.
func (s *sink) entry(text map[string]string) {
	s.number++
	s.units = "entry"
	r := Record{Kind: Link}
	base, all := "", false // whether what begins with a name is relative, too: in a sitemap it is a host, or a mistake
	for _, name := range []string{"loc", "link", "url"} {
		if r.URL == "" {
			r.URL, base, all = strings.TrimSpace(text[name]), text[xmlBase+name], name == "link"
		}
	}
	if guid := strings.TrimSpace(text["guid"]); r.URL == "" && isURL(guid) { // or it is only a name
		r.URL = guid
	}
	if s.format == Burp {
		r.Kind = Fetch
		r.answered(strings.TrimSpace(text["status"]))
		r.Time = ParseTime(strings.TrimSpace(text["time"]))
	}
	for _, name := range s.opt.Fields {
		r.Fields = append(r.Fields, strings.TrimSpace(text[name]))
	}
	found := r.URL
	b, err := canon.ParseBase(base)
	if err == nil && !isFull(found) && (all || relative.MatchString(found)) {
		r.URL = resolve(b, found)
	}
	switch {
	case isFull(r.URL):
		s.emit(r)
		s.unit(nil, r.URL)
	case found == "":
		s.unit(bad("got an entry without a location"), "")
	case hasScheme(found):
		s.unit(bad("got location %q; want a URL of the web", found), found)
	case err != nil:
		s.unit(bad("got location %q; want an absolute URL, or --base for relative ones", found), found)
	default:
		s.unit(bad("got location %q; want an absolute URL, or a path that begins with a slash", found), found)
	}
}

// relative matches a location of a sitemap that can be meant as relative.
var relative = regexp.MustCompile(`^(?:[/?]|\.\.?/)`)

// isFull reports whether a location is an absolute URL, perhaps with blanks in it.
func isFull(location string) bool { return isURL(strings.ReplaceAll(location, " ", "+")) }

// xmlEntries follows the tokens of one file. An entry is an element that has its location in a child: <loc> in <url> or <sitemap>,
// <link> in the <item> or <entry> of a feed, whose text or href it is, relative to an xml:base, or without it the <guid>, <url> in an <item> of Burp. The locations of images and videos have
// other parents, or other prefixes. Of two children of one name the first one counts. An entry is whole at its end, or where a second location begins in it. Bookmarks and OPML have an entry in an attribute.
type xmlEntries struct {
	depth, entry int               // of the element that is open, and of the entry around it, 0 for none
	of, child    string            // names of the entry, and of its child that is read
	space        string            // prefix of the entry
	bookmarks    bool              // HTML, which leaves elements open
	text         map[string]string // of the elements of the entry that are read
	had          bool              // a location of the entry is whole
	found        map[string]string // the text of an entry that is whole
	bases        []string          // xml:base of the document and of the elements that are open
}

// xmlBase and the name of an element is what its text is relative to, among the texts of an entry.
const xmlBase = "xml:base"

// xmlElements are the children of an entry that are read.
var xmlElements = map[string][]string{
	"url":     {"loc", "lastmod", "changefreq", "priority"},
	"sitemap": {"loc", "lastmod", "changefreq", "priority"},
	"item":    {"loc", "link", "url", "guid", "status", "time"},
	"entry":   {"link"},
	"image":   {}, // of a feed: its URL is of no page
}

func (x *xmlEntries) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.Directive:
		x.bookmarks = x.bookmarks || isBookmarks(t)
	case xml.StartElement:
		base := x.bases[len(x.bases)-1]
		for _, a := range t.Attr {
			if a.Name == (xml.Name{Space: "xml", Local: "base"}) {
				if outer, err := canon.ParseBase(base); err == nil {
					a.Value = outer.Resolve(a.Value)
				}
				base = a.Value
			}
		}
		name := strings.ToLower(t.Name.Local)
		link := attribute(t, "xmlurl")
		if x.bookmarks {
			link = attribute(t, "href")
		} else if name == "outline" {
			link = cmp.Or(link, attribute(t, "url"))
		}
		if link != "" {
			x.found = map[string]string{"link": link, xmlBase + "link": base}
		}
		if x.bookmarks {
			return nil
		}
		if x.depth++; x.depth > maxXMLDepth {
			return fmt.Errorf("got elements %d deep; want at most %d", x.depth, maxXMLDepth)
		}
		x.bases = append(x.bases, base)
		switch {
		case x.entry == 0 && x.depth > 1 && xmlElements[name] != nil:
			x.entry, x.of, x.space = x.depth, name, t.Name.Space
		case x.entry > 0 && x.depth == x.entry+1:
			if x.child = name; name == "loc" && x.had { // the links of a feed are of one entry
				x.found, x.text, x.had = x.text, nil, false
			}
			if t.Name.Space != x.space && t.Name.Space != "atom" || strings.TrimSpace(x.text[name]) != "" ||
				name == "guid" && strings.EqualFold(attribute(t, "ispermalink"), "false") {
				x.child = ""
			} else if rel := attribute(t, "rel"); name == "link" && (rel == "" || rel == "alternate") {
				return x.add(attribute(t, "href"))
			}
		}
	case xml.EndElement:
		switch {
		case x.bookmarks:
			return nil
		case x.depth == 0:
			return errors.New("got the end of an element that did not begin")
		case x.entry > 0 && x.depth == x.entry+1:
			x.had, x.child = x.had || x.child == "loc", ""
		case x.depth == x.entry:
			x.found, x.text, x.had, x.entry = x.text, nil, false, 0
			if x.found == nil && x.of != "image" {
				x.found = map[string]string{} // an entry without anything
			}
		}
		x.depth, x.bases = x.depth-1, x.bases[:len(x.bases)-1]
	case xml.CharData:
		if x.entry > 0 && x.depth == x.entry+1 {
			return x.add(string(t))
		}
	}
	return nil
}

// add adds a text to the child that is open.
func (x *xmlEntries) add(text string) error {
	if !slices.Contains(xmlElements[x.of], x.child) {
		return nil
	}
	if x.text == nil {
		x.text = map[string]string{}
	}
	if len(x.text[x.child])+len(text) > maxXMLToken {
		return fmt.Errorf("got a location of more than %d bytes", maxXMLToken)
	}
	x.text[x.child] += text
	if base := x.bases[len(x.bases)-1]; base != "" {
		x.text[xmlBase+x.child] = base
	}
	return nil
}

// attribute returns the value of an attribute, however its name is written.
func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

// isBookmarks reports whether a document is what browsers export.
func isBookmarks(t xml.Directive) bool {
	return strings.Contains(strings.ToLower(string(t)), "doctype netscape-bookmark")
}

// tokenReader fails once a token has taken too many bytes, which a decoder would hold.
type tokenReader struct {
	r          io.Reader
	left, most int
}

func (t *tokenReader) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, fmt.Errorf("got a part of more than %d bytes", t.most)
	}
	n, err := t.r.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}

// charset reads UTF-8, which sitemaps have by their protocol, and the encodings that browsers or IANA have a name for.
func charset(name string, in io.Reader) (io.Reader, error) {
	for _, spelling := range []string{name, strings.ReplaceAll(name, "-", ""), strings.ReplaceAll(name, "_", "-")} { // "latin-1", "windows_1251"
		e, err := htmlindex.Get(spelling)
		if err != nil {
			e, err = ianaindex.IANA.Encoding(spelling)
		}
		if err != nil || e == nil {
			continue
		}
		if known, _ := htmlindex.Name(e); strings.HasPrefix(known, "utf-") || strings.HasSuffix(strings.ToLower(name), "ascii") { // File decoded UTF-16
			return in, nil
		}
		return e.NewDecoder().Reader(in), nil
	}
	return nil, fmt.Errorf("got encoding %q, which is not read: pipe it through iconv -f %s -t UTF-8, and remove `encoding=%q` from its first line", name, name, name)
}
