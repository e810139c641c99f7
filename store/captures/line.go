package captures

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// Capture is the result of one fetch: the evidence by which rules are judged and traps are found. Each text has at most
// 65,535 bytes.
type Capture struct {
	// URL as it was fetched.
	URL string
	// Time of the fetch, kept in seconds.
	Time time.Time
	// Status of HTTP. The default, 0, is unknown.
	Status int
	// Digest of the content, with or without "sha1:" before it, in hex or base32, but always
	// in the same form. The default, "", is unknown.
	Digest string
	// Redirect is where the fetch was redirected to. The default, "", is nowhere.
	Redirect string
	// Canonical is the canonical link that the response declares, absolute (package
	// frontier/declared). The default is none.
	Canonical string
	// NoVarySearch is its No-Vary-Search field. The default is none.
	NoVarySearch string
	// CleanParam are the Clean-param rules of a robots.txt, a line each. The default is none.
	CleanParam string

	// Masked is the digest of the content without what the URL tells (declared.Masked). The sample does not keep it, nor the
	// next. The default is unknown.
	Masked string
	// Unlisted is set if the response asks robots neither to index it nor to follow its links. The default is false.
	Unlisted bool
}

const (
	headerStart = "firstseen captures v"
	header      = headerStart + "2"
	maxText     = 1<<16 - 1
	maxLine     = 1 << 20
)

// errLine means that this package did not write a line.
var errLine = errors.New("damaged line")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends a line with its checksum and line end.
func appendLine(dst []byte, rest func([]byte) []byte) []byte {
	at := len(dst)
	dst = rest(append(dst, "00000000\t"...))
	copy(dst[at:], fmt.Sprintf("%08x", crc32.Checksum(dst[at+9:], castagnoli)))
	return append(dst, '\n')
}

func appendLevel(dst []byte, level uint8) []byte {
	return appendLine(dst, func(b []byte) []byte { return strconv.AppendUint(append(b, "level\t"...), uint64(level), 10) })
}

func (c *Capture) append(dst []byte, place, variant uint64) []byte {
	return appendLine(dst, func(b []byte) []byte {
		b = fmt.Appendf(b, "%016x\t%016x\t%d\t%d\t", place, variant, c.Time.Unix(), c.Status)
		b = append(appendQuote(b, c.Digest), '\t')
		b = append(appendQuote(b, c.Redirect), '\t')
		b = appendQuote(b, c.URL)
		if c.Canonical+c.NoVarySearch+c.CleanParam == "" {
			return b
		}
		for _, text := range []string{c.Canonical, c.NoVarySearch, c.CleanParam} {
			b = appendQuote(append(b, '\t'), text)
		}
		return b
	})
}

// appendQuote is strconv.AppendQuote, several times faster for the usual text: printable ASCII
// without quotes.
func appendQuote(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(dst, text)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// line is a line as it was read.
type line struct {
	level          uint8 // if not isCapture
	isCapture      bool
	place, variant uint64
	rest           []byte // of the capture
}

// parseLine reads a line with its line end.
func parseLine(text []byte) (l line, err error) {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	sum, err := parseHex(text, 8)
	if err != nil || crc32.Checksum(text[9:], castagnoli) != uint32(sum) {
		return l, errLine
	}
	text = text[9:]
	if level, ok := bytes.CutPrefix(text, []byte("level\t")); ok {
		n, err := strconv.ParseUint(string(level), 10, 8)
		if err != nil || n > maxLevel {
			return l, errLine
		}
		return line{level: uint8(n)}, nil
	}
	l.isCapture = true
	if l.place, err = parseHex(text, 16); err != nil {
		return l, err
	}
	if l.variant, err = parseHex(text[17:], 16); err != nil {
		return l, err
	}
	l.rest = text[34:]
	return l, nil
}

// parseHex reads n hexadecimal digits that a tab follows.
func parseHex(text []byte, n int) (v uint64, err error) {
	if len(text) <= n || text[n] != '\t' {
		return 0, errLine
	}
	if v, err = strconv.ParseUint(string(text[:n]), 16, 64); err != nil {
		return 0, errLine
	}
	return v, nil
}

func (l *line) capture() (c Capture, err error) {
	fields := strings.Split(string(l.rest), "\t")
	if len(fields) != 5 && len(fields) != 8 {
		return c, errLine
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return c, errLine
	}
	c.Time = time.Unix(seconds, 0).UTC()
	if c.Status, err = strconv.Atoi(fields[1]); err != nil {
		return c, errLine
	}
	texts := []*string{&c.Digest, &c.Redirect, &c.URL, &c.Canonical, &c.NoVarySearch, &c.CleanParam}
	for i, text := range texts[:len(fields)-2] {
		if *text, err = strconv.Unquote(fields[2+i]); err != nil {
			return c, errLine
		}
	}
	return c, nil
}
