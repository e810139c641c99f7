package logs

import (
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

// xml reads the locations of a sitemap, or of the sitemaps of an index (sitemaps.org, protocol 0.9), as links; or the
// items that Burp Suite exports, which have statuses. Sitemaps are made by hand and by programs that don't know XML, so the
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
	r := Record{URL: strings.TrimSpace(text["loc"] + text["url"]), Kind: Link}
	if s.format == Burp {
		r.Kind = Fetch
		r.answered(strings.TrimSpace(text["status"]))
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

// xmlEntries follows the tokens of one file. A location is <loc> in <url> or <sitemap>; those of
// images and videos have other parents. An entry is whole at its end, or where a second location begins in it.
type xmlEntries struct {
	open  [3]string // names of the elements of depth 1 to 3
	depth int
	text  map[string]string // of the elements of the entry that are read
	had   bool              // a location of the entry is whole
	found map[string]string // the text of an entry that is whole
}

// xmlElements are those of an entry that are read, besides its location.
var xmlElements = []string{"lastmod", "changefreq", "priority"}

func (x *xmlEntries) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > maxXMLDepth {
			return fmt.Errorf("got elements %d deep; want at most %d", x.depth, maxXMLDepth)
		}
		if x.depth <= len(x.open) {
			x.open[x.depth-1] = strings.ToLower(t.Name.Local)
		}
		if x.depth == 3 && x.isEntry() && x.open[2] == "loc" && x.had {
			x.found, x.text, x.had = x.text, nil, false
		}
	case xml.EndElement:
		if x.depth == 0 {
			return errors.New("got the end of an element that did not begin")
		}
		switch {
		case x.depth == 3 && x.isEntry() && x.open[2] == "loc":
			x.had = true
		case x.depth == 2 && x.isEntry():
			x.found, x.text, x.had = x.text, nil, false
			if x.found == nil {
				x.found = map[string]string{} // an entry without anything
			}
		}
		x.depth--
	case xml.CharData:
		if name := x.open[2]; x.depth == 3 && x.isEntry() && (name == "loc" || slices.Contains(xmlElements, name) || x.open[1] == "item" && (name == "url" || name == "status")) {
			if x.text == nil {
				x.text = map[string]string{}
			}
			if len(x.text[name])+len(t) > maxXMLToken {
				return fmt.Errorf("got a location of more than %d bytes", maxXMLToken)
			}
			x.text[name] += string(t)
		}
	}
	return nil
}

func (x *xmlEntries) isEntry() bool {
	return x.open[1] == "url" || x.open[1] == "sitemap" || x.open[1] == "item"
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
