package logs

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
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
	x := xmlEntries{}
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
	r := Record{URL: cmp.Or(strings.TrimSpace(text["loc"]), strings.TrimSpace(text["link"]), strings.TrimSpace(text["url"])), Kind: Link}
	if s.format == Burp {
		r.Kind = Fetch
		r.answered(strings.TrimSpace(text["status"]))
		r.Time = ParseTime(strings.TrimSpace(text["time"]))
	}
	for _, name := range s.opt.Fields {
		r.Fields = append(r.Fields, strings.TrimSpace(text[name]))
	}
	if !isURL(strings.ReplaceAll(r.URL, " ", "+")) {
		s.unit(bad("got location %q; want an absolute URL", r.URL), r.URL)
		return
	}
	s.emit(r)
	s.unit(nil, r.URL)
}

// xmlEntries follows the tokens of one file. An entry is an element that has its location in a child: <loc> in <url> or <sitemap>,
// <link> in the <item> or <entry> of a feed, whose text or href it is, <url> in an <item> of Burp. The locations of images and videos have
// other parents, or other prefixes. Of two children of one name the first one counts. An entry is whole at its end, or where a second location begins in it. Bookmarks and OPML have an entry in an attribute.
type xmlEntries struct {
	depth, entry int               // of the element that is open, and of the entry around it, 0 for none
	of, child    string            // names of the entry, and of its child that is read
	space        string            // prefix of the entry
	bookmarks    bool              // HTML, which leaves elements open
	text         map[string]string // of the elements of the entry that are read
	had          bool              // a location of the entry is whole
	found        map[string]string // the text of an entry that is whole
}

// xmlElements are the children of an entry that are read.
var xmlElements = map[string][]string{
	"url":     {"loc", "lastmod", "changefreq", "priority"},
	"sitemap": {"loc", "lastmod", "changefreq", "priority"},
	"item":    {"loc", "link", "url", "status", "time"},
	"entry":   {"link"},
	"image":   {}, // of a feed: its URL is of no page
}

func (x *xmlEntries) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.Directive:
		x.bookmarks = x.bookmarks || isBookmarks(t)
	case xml.StartElement:
		name := strings.ToLower(t.Name.Local)
		link := attribute(t, "xmlurl")
		if x.bookmarks {
			link = attribute(t, "href")
		} else if name == "outline" {
			link = cmp.Or(link, attribute(t, "url"))
		}
		if link != "" {
			x.found = map[string]string{"loc": link}
		}
		if x.bookmarks {
			return nil
		}
		if x.depth++; x.depth > maxXMLDepth {
			return fmt.Errorf("got elements %d deep; want at most %d", x.depth, maxXMLDepth)
		}
		switch {
		case x.entry == 0 && x.depth > 1 && xmlElements[name] != nil:
			x.entry, x.of, x.space = x.depth, name, t.Name.Space
		case x.entry > 0 && x.depth == x.entry+1:
			if x.child = name; name == "loc" && x.had { // the links of a feed are of one entry
				x.found, x.text, x.had = x.text, nil, false
			}
			if t.Name.Space != x.space && t.Name.Space != "atom" || strings.TrimSpace(x.text[name]) != "" {
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
		x.depth--
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

// charset reads the encodings that sitemaps may have, which is UTF-8, and the two that some have.
func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be": // File decoded the last ones
		return in, nil
	case "iso-8859-1", "latin1", "latin-1":
		return charmap.ISO8859_1.NewDecoder().Reader(in), nil
	}
	return nil, fmt.Errorf("got encoding %q; want UTF-8, as the sitemap protocol does", name)
}
