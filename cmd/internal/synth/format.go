package synth

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format is what a web is written as.
type Format string

// The formats. The first two are link streams, one line for each link found;
// the others are logs of captures.
const (
	URLs     Format = "urls"      // one URL a line
	Truth    Format = "truth"     // URL, identity (base 36) and rule of each link, tab-separated
	CDX      Format = "cdx"       // 11 columns with a header line
	CDXJ     Format = "cdxj"      // key, time and JSON
	CrawlLog Format = "crawl.log" // as Heritrix 3 writes it; without the targets of redirects
	Captures Format = "captures"  // URL, identity and rule of each capture, tab-separated
)

// Formats lists the formats there are.
func Formats() []Format { return []Format{URLs, Truth, CDX, CDXJ, CrawlLog, Captures} }

// FormatNames returns the names of the formats.
func FormatNames() (names []string) {
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return names
}

// links reports whether the format is a stream of links.
func (f Format) links() bool { return f == URLs || f == Truth }

// header is the first line of a file, or "".
func (f Format) header() string {
	if f == CDX {
		return " CDX N b a m s k r M S V g\n"
	}
	return ""
}

func (f Format) check() error {
	if slices.Contains(Formats(), f) {
		return nil
	}
	return fmt.Errorf("cannot write a web; got format %q; want one of %s", string(f), strings.Join(FormatNames(), ", "))
}

func (f Format) appendLink(dst []byte, s *Spelling) []byte {
	dst = append(dst, s.URL...)
	if f == Truth {
		dst = s.appendTruth(dst)
	}
	return append(dst, '\n')
}

func (s *Spelling) appendTruth(dst []byte) []byte {
	dst = s.appendIdentity(append(dst, '\t'))
	return append(append(dst, '\t'), s.Rule.String()...)
}

func (f Format) appendCapture(dst []byte, c *Capture) []byte {
	switch f {
	case CDX:
		dst = append(appendKey(dst, c.URL), ' ')
		dst = append(c.Time.AppendFormat(dst, "20060102150405"), ' ')
		dst = append(append(dst, c.URL...), " text/html "...)
		dst = append(strconv.AppendInt(dst, int64(c.Status), 10), ' ')
		dst = append(append(dst, c.Digest[:]...), ' ')
		dst = append(append(dst, cmp.Or(string(c.Redirect), "-")...), " - "...)
		dst = strconv.AppendInt(dst, int64(c.Length), 10)
		dst = append(dst, " 0 synth.warc.gz"...)
	case CDXJ:
		dst = append(appendKey(dst, c.URL), ' ')
		dst = c.Time.AppendFormat(dst, "20060102150405")
		dst = append(append(dst, ` {"url": "`...), c.URL...)
		dst = append(dst, `", "mime": "text/html", "status": "`...)
		dst = strconv.AppendInt(dst, int64(c.Status), 10)
		dst = append(append(dst, `", "digest": "sha1:`...), c.Digest[:]...)
		if len(c.Redirect) > 0 {
			dst = append(append(dst, `", "redirect": "`...), c.Redirect...)
		}
		dst = strconv.AppendInt(append(dst, `", "length": "`...), int64(c.Length), 10)
		dst = append(dst, `", "offset": "0", "filename": "synth.warc.gz"}`...)
	case CrawlLog:
		dst = c.Time.AppendFormat(dst, "2006-01-02T15:04:05.000Z")
		dst = fmt.Appendf(dst, " %5d %10d %s L - text/html #001 ", c.Status, c.Length, c.URL)
		dst = append(c.Time.AppendFormat(dst, "20060102150405")[:len(dst)+14], "000+1 sha1:"...)
		dst = append(append(dst, c.Digest[:]...), " - -"...)
	default:
		dst = c.appendTruth(append(dst, c.URL...))
	}
	return append(dst, '\n')
}

// appendKey appends a sort key: the host's labels from the right, then the path.
func appendKey(dst, url []byte) []byte {
	rest := strings.ToLower(string(url))
	_, rest, _ = strings.Cut(rest, "://")
	host, path, _ := strings.Cut(rest, "/")
	labels := strings.Split(strings.TrimPrefix(host, "www."), ".")
	for i := len(labels) - 1; i >= 0; i-- {
		dst = append(dst, labels[i]...)
		if i > 0 {
			dst = append(dst, ',')
		}
	}
	return append(append(dst, ")/"...), path...)
}
