package crawllog

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
)

// Bounds on a sitemap. The protocol's own are 50 MB, 50,000 URLs and 2,048 characters a
// URL; longer sitemaps are read, longer URLs are not.
const (
	maxXMLToken = 1 << 20 // bytes
	maxXMLDepth = 100
)

// isSitemap reports whether a text begins as a sitemap or an index of sitemaps does
// (sitemaps.org, protocol 0.9).
func isSitemap(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if !bytes.HasPrefix(head, []byte("<")) {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(head))
	d.CharsetReader = charset
	for {
		t, err := d.RawToken()
		if err != nil {
			return false
		}
		if root, ok := t.(xml.StartElement); ok {
			return root.Name.Local == "urlset" || root.Name.Local == "sitemapindex"
		}
	}
}

// isMarkup reports whether a first line is of a page, a feed or another document.
func isMarkup(line []byte) bool {
	line = bytes.ToLower(bytes.TrimLeft(line, " \t"))
	for _, begin := range []string{"<?xml", "<!doctype", "<html", "<rss", "<feed"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return true
		}
	}
	return false
}

// readSitemap reads the locations of a sitemap, or of the sitemaps of an index, as links.
func readSitemap(f *input.File, counts *Counts) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		in := &tokenReader{r: f.Reader()}
		d := xml.NewDecoder(in)
		d.CharsetReader = charset
		s := sitemap{}
		for {
			in.left = maxXMLToken
			t, err := d.RawToken()
			if err == io.EOF && s.depth == 0 {
				return
			}
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			if err == nil {
				err = s.token(t)
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("cannot read %s beyond URL %d: %w", f.Name, counts.Lines, err))
				return
			}
			if !s.found {
				continue
			}
			s.found = false
			counts.Lines++
			if !yield(Record{URL: strings.TrimSpace(s.text.String()), Kind: Link, Line: counts.Lines}, nil) {
				return
			}
		}
	}
}

// sitemap follows the tokens of one. A location is <loc> in <url> or <sitemap>; those of
// images and videos have other parents.
type sitemap struct {
	open  [3]string // names of the elements of depth 1 to 3
	depth int
	text  strings.Builder // of a location
	found bool            // text is whole
}

func (s *sitemap) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if s.depth++; s.depth > maxXMLDepth {
			return fmt.Errorf("got elements %d deep; want at most %d", s.depth, maxXMLDepth)
		}
		if s.depth <= len(s.open) {
			s.open[s.depth-1] = t.Name.Local
		}
		if s.inLocation() {
			s.text.Reset()
		}
	case xml.EndElement:
		if s.depth == 0 {
			return errors.New("got the end of an element that did not begin")
		}
		s.found = s.inLocation()
		s.depth--
	case xml.CharData:
		if s.inLocation() {
			if s.text.Len()+len(t) > maxXMLToken {
				return fmt.Errorf("got a location of more than %d bytes", maxXMLToken)
			}
			s.text.Write(t)
		}
	}
	return nil
}

func (s *sitemap) inLocation() bool {
	return s.depth == 3 && s.open[2] == "loc" && (s.open[1] == "url" || s.open[1] == "sitemap")
}

// tokenReader fails once a token has taken too many bytes, which a decoder would hold.
type tokenReader struct {
	r    io.Reader
	left int
}

func (t *tokenReader) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, fmt.Errorf("got a part of more than %d bytes", maxXMLToken)
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
		return &latin1Reader{r: in}, nil
	}
	return nil, fmt.Errorf("got encoding %q; want UTF-8, as the sitemap protocol does", name)
}

// latin1Reader turns ISO 8859-1 into UTF-8.
type latin1Reader struct {
	r    io.Reader
	rest []byte
}

func (l *latin1Reader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		var raw [1024]byte
		n, err := l.r.Read(raw[:])
		for _, c := range raw[:n] {
			l.rest = append(l.rest, string(rune(c))...)
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[:copy(l.rest, l.rest[n:])]
	return n, nil
}
