package logs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
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
			return fmt.Errorf("cannot read %s beyond URL %d: %w", f.Name, s.number, short(err))
		}
		if !x.found {
			continue
		}
		s.number++
		r := Record{URL: strings.TrimSpace(x.text["loc"] + x.text["url"]), Kind: Link}
		if s.format == Burp {
			r.Kind = Fetch
			r.answered(strings.TrimSpace(x.text["status"]))
		}
		if err = nil; !isURL(strings.ReplaceAll(r.URL, " ", "+")) {
			err = bad("got location %q; want an absolute URL", r.URL)
		} else {
			s.emit(r)
		}
		s.unit(err, r.URL)
	}
	return nil
}

// xmlEntries follows the tokens of one file. A location is <loc> in <url> or <sitemap>; those of
// images and videos have other parents. An item of Burp is whole at its end.
type xmlEntries struct {
	open  [3]string // names of the elements of depth 1 to 3
	depth int
	text  map[string]string // of the elements of the entry that are read
	found bool              // a location is whole, or an entry without one
	had   bool              // the entry had a location
}

func (x *xmlEntries) token(t xml.Token) error {
	if x.found {
		x.found, x.text = false, nil
	}
	switch t := t.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > maxXMLDepth {
			return fmt.Errorf("got elements %d deep; want at most %d", x.depth, maxXMLDepth)
		}
		if x.depth <= len(x.open) {
			x.open[x.depth-1] = strings.ToLower(t.Name.Local)
		}
	case xml.EndElement:
		if x.depth == 0 {
			return errors.New("got the end of an element that did not begin")
		}
		switch {
		case x.depth == 3 && x.isEntry() && x.open[2] == "loc":
			x.found, x.had = true, true
		case x.depth == 2 && x.isEntry():
			x.found, x.had = !x.had, false // an entry of Burp, or one without a location
		}
		x.depth--
	case xml.CharData:
		if name := x.open[2]; x.depth == 3 && x.isEntry() && (name == "loc" || x.open[1] == "item" && (name == "url" || name == "status")) {
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
	case "utf-8", "utf8", "us-ascii", "ascii":
		return in, nil
	case "iso-8859-1", "latin1", "latin-1":
		return charmap.ISO8859_1.NewDecoder().Reader(in), nil
	}
	return nil, fmt.Errorf("got encoding %q; want UTF-8, as the sitemap protocol does", name)
}
