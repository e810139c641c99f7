package crawllog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a record.
type Kind uint8

// The kinds of records.
const (
	// Fetch is a request that a server answered.
	Fetch Kind = iota
	// Revisit is a fetch whose content was as it had been before.
	Revisit
	// Link is a URL that was found or queued, not fetched.
	Link
	// Other is no request to a web server: a DNS look-up, a crawler's own records.
	Other
)

// String returns "fetch", "revisit", "link" or "other".
func (k Kind) String() string {
	return [...]string{"fetch", "revisit", "link", "other"}[min(k, Other)]
}

// A Record is what a log contains about one URL. Fields that the log lacks are zero.
type Record struct {
	URL  string
	Kind Kind
	Time time.Time
	// Status is that of HTTP; Heritrix has negative ones and 1 for DNS.
	Status int
	MIME   string
	// Digest is of the content, as the log writes it, without "sha1:" or "md5:".
	Digest string
	// Redirect is the target of a redirect, as logged: perhaps relative.
	Redirect string
	// Via is the URL this one was found on.
	Via string
	// RedirectedFrom means that Via redirected to the URL.
	RedirectedFrom bool
	// Length is that of the content, or of its stored part, in bytes.
	Length int64
	// Declarations of the response, as in package declared. Records of WARC files have them with
	// [Options.Declared], as do the captures that a daemon kept.
	Canonical, NoVarySearch, CleanParam string
	// Line is the number of the line, or for WARC of the record, from 1.
	Line int64
}

// A LineError is the error of one line that its format does not allow.
type LineError struct {
	Line int64
	Text string // its beginning
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// errSkip is returned for a line that belongs to the format but holds no record of a
// URL: a header, a comment, a request beside its response.
var errSkip = errors.New("no record")

// bad makes the error of a line.
func bad(format string, args ...any) error { return fmt.Errorf(format, args...) }

// kindOf returns the kind of a record with this URL in a log of fetches.
func kindOf(url string, fetched Kind) Kind {
	for _, web := range []string{"http:", "https:", "ftp:"} {
		if len(url) >= len(web) && strings.EqualFold(url[:len(web)], web) {
			return fetched
		}
	}
	if i := strings.IndexByte(url, ':'); i < 0 || strings.ContainsAny(url[:i], "/?#.") {
		return fetched // there is no scheme; the canonicalizer decides
	}
	return Other
}

// bareDigest takes the name of the algorithm off; "-" and "null" are none.
func bareDigest(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	return given(s)
}

// given turns the signs for "nothing" into nothing.
func given(s string) string {
	if s == "-" || s == "null" {
		return ""
	}
	return s
}

// number reads a count; anything else is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// digitTime reads the archives' time stamps of 4 to 17 digits, YYYYMMDDhhmmss with
// the end left out, or with milliseconds. It is zero for anything else.
func digitTime(s string) time.Time {
	const whole = "00000101000000"
	if len(s) < 4 || strings.Trim(s, "0123456789") != "" {
		return time.Time{}
	}
	if len(s) < len(whole) {
		s += whole[len(s):]
	}
	n := func(from, to int) int { v, _ := strconv.Atoi(s[from:to]); return v }
	month, day := n(4, 6), n(6, 8)
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}
	}
	return time.Date(n(0, 4), time.Month(month), day, n(8, 10), n(10, 12), n(12, 14), 0, time.UTC)
}

// layoutTime reads a time in a layout of package time; zero if it isn't one.
func layoutTime(layout, s string) time.Time {
	t, err := time.Parse(layout, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
