package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what a log says about a URL.
type Kind uint8

// The kinds of records.
const (
	// Fetch is a request that a server answered. Its status is known unless it is 0.
	Fetch Kind = iota
	// Revisit is a fetch whose content was as it had been before.
	Revisit
	// Link is a URL that was found or queued, or requested without an answer.
	Link
	// Listed is a URL of a list or table that does not say whether it was fetched.
	Listed
	// Other is no request to a web server: a DNS look-up, a crawler's own records.
	Other
)

// String returns "fetch", "revisit", "link", "listed" or "other".
func (k Kind) String() string {
	return [...]string{"fetch", "revisit", "link", "listed", "other"}[min(k, Other)]
}

// A Record is what a log contains about one URL. Fields that the log lacks are zero.
type Record struct {
	// URL is as it was logged; only the escaping of the log itself is undone.
	URL  string
	Kind Kind
	Time time.Time
	// Status is the HTTP status, 0 if it is not known. If a log has a status that no server can
	// send, the record is a Link. Heritrix has negative ones, and 1 for DNS.
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
	// Length of the content, or of the part that is stored, in bytes.
	Length int64
	// Declarations of the response, as in package declared. Records of WARC files have them with
	// [Options.Declared], as do the captures that a daemon kept.
	Canonical, NoVarySearch, CleanParam string
	// Fields are the values of [Options.Fields], in their order: "" for one that the record lacks.
	Fields []string
	// Line is the place in the file, or in [Batch.Member] of it: the number of the line, row, entry or archive record, from 1.
	Line int64
	// Offset is where an archive record begins, in bytes of the file: of a compressed one, where the gzip member or zstd frame
	// begins that has it, and maybe others. Other records have 0.
	Offset int64

	assumed bool // http, as nothing says the scheme of the host
	silent  bool // nothing says whether a server answered: there is no place for a status, or nothing in it
}

// recorded are the meanings that field knows.
var recorded = []meaning{aTime, aStatus, aLength, aDigest, aType, aRedirect, aReferrer}

// field returns what a record knows by a name of the vocabulary. So a CDX file, which names nothing, has a field "timestamp" as
// a table with such a column does.
func (r *Record) field(name string) string {
	name = plainName(name)
	is := func(m meaning) bool { return slices.Contains(vocabulary[m], name) }
	switch {
	case is(aTime) && !r.Time.IsZero():
		return r.Time.UTC().Format(time.RFC3339Nano)
	case is(aStatus) && r.Status != 0:
		return strconv.Itoa(r.Status)
	case is(aLength) && r.Length != 0:
		return strconv.FormatInt(r.Length, 10)
	case is(aDigest):
		return r.Digest
	case is(aType):
		return r.MIME
	case is(aRedirect):
		return r.Redirect
	case is(aReferrer):
		return r.Via
	}
	return ""
}

// answered sets the status of a fetch from the text of the log. A log that has a place for the status
// and no status from 100 to 599 there says that no server answered: then the URL was only found. This
// is where "not known", which is a Fetch with status 0, and "no answer" part.
func (r *Record) answered(status string) {
	r.Status, _ = strconv.Atoi(status[:len(status)-len(strings.TrimLeft(status, "0123456789"))]) // of "404 Not Found", or "200.0"
	if r.Kind == Fetch && (r.Status < 100 || r.Status > 599) {
		r.Kind, r.silent = Link, given(status) == ""
	}
}

// Captured reports whether a record is evidence of a fetch: it is one, or nothing says whether it is and it has the digest of a content.
// Whether a URL was seen is another question, and import asks more: a table may have the digests of an earlier crawl.
func (r *Record) Captured() bool {
	switch {
	case r.Kind == Fetch:
		return r.Status >= 0 && (!r.Unsaid() || r.Canonical+r.NoVarySearch+r.CleanParam != "")
	case r.Kind == Listed, r.Kind == Link && r.silent:
		return r.Digest != ""
	}
	return r.Kind == Revisit
}

// kindOf returns the kind of a record with this URL in a log of fetches.
func kindOf(url string, fetched Kind) Kind {
	scheme, _, ok := strings.Cut(url, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "http", scheme == "https", scheme == "ftp":
		return fetched
	case !ok, scheme == "", strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-") != "":
		return fetched // there is no scheme; the canonicalizer decides
	}
	return Other
}

// isURL reports whether a text begins like the URL of a fetch.
func isURL(s string) bool {
	i := 0
	for i < len(s) && i < 12 && 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' {
		i++
	}
	return i > 0 && strings.HasPrefix(s[i:], "://") && len(s) > i+3 && strings.IndexByte(s, ' ') < 0 && strings.IndexByte(s, '\t') < 0
}

// plausible reports whether a text is an absolute URL whose host DNS can hold. Canonicalizers take
// more, such as `http://a,b"/`: those are most often a cell with its neighbour, or half of a quote.
func plausible(s string) bool {
	if !isURL(s) {
		return false
	}
	_, rest, _ := strings.Cut(s, "://")
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	return host != "" && !strings.ContainsAny(host, "\",;|()<>{}\\^`'")
}

// isHost reports whether a text is a host, or begins with one and goes on as a URL does: a name or an address, of IPv6 in brackets if
// there is more. A single label could be any word, except localhost.
func isHost(s string) bool {
	if isAddress(s) {
		return strings.IndexByte(s, '%') < 0 // a zone means something on one machine alone
	}
	host := s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		host = s[:i]
	}
	name, port, _ := strings.Cut(host, ":")
	if strings.HasPrefix(s, "[") {
		if name, port, _ = strings.Cut(host[1:], "]"); !isAddress(name) || !strings.Contains(name, ":") || port != "" && port[0] != ':' {
			return false
		}
		name, port = "localhost", strings.TrimPrefix(port, ":") // all but its text is checked
	}
	if strings.Trim(port, "0123456789") != "" || strings.ContainsAny(s[len(host):], " \t\"'<>{}|\\^`") || !strings.Contains(name, ".") && name != "localhost" || strings.Contains(name, "..") {
		return false
	}
	for _, c := range []byte(name) {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_' || c >= 0x80) {
			return false
		}
	}
	last := name[strings.LastIndexByte(strings.TrimSuffix(name, "."), '.')+1:]
	return name[0] != '.' && last != "" && (last[0] < '0' || last[0] > '9' || isAddress(name)) // no public suffix begins with a digit, as 12.5M would
}

// withScheme returns a URL, which a host is with the scheme that the caller gave.
func withScheme(s, scheme string) (string, error) {
	switch {
	case !isHost(s):
		return s, nil
	case scheme == "":
		return s, errNoScheme
	}
	host, _ := bracket(s)
	return scheme + "://" + host, nil
}

// bracket returns a host as URLs write it, and whether it is the host alone, with neither port nor path.
func bracket(s string) (host string, alone bool) {
	switch bare := strings.Trim(s, "[]"); {
	case !isAddress(bare):
		return s, !strings.ContainsAny(s, ":/?#")
	case strings.Contains(bare, ":"):
		return "[" + bare + "]", true
	}
	return s, true
}

// bareDigest takes the name of the algorithm off; "-" and "null" are none.
func bareDigest(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	return given(s)
}

// given returns "" for the placeholders of missing values.
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

// timeLayouts are those of times that don't begin with the year: of access logs, of HTTP and mail, of C and of people.
var timeLayouts = []string{
	accessTime, "02/Jan/2006:15:04:05", "02/Jan/2006 15:04:05", time.RFC1123, time.RFC1123Z, time.RFC850, time.UnixDate, time.ANSIC, time.RubyDate,
	"2 Jan 2006 15:04:05", "2 Jan 2006 15:04:05 -0700", "02-Jan-2006 15:04:05", "Jan 2, 2006 15:04:05", "Jan 2, 2006, 3:04:05 PM", "Jan 2, 2006",
}

// clockLayouts are those of what stands behind the day, without blanks. Seconds may have fractions.
var clockLayouts = []string{"15:04:05", "15:04:05Z07:00", "15:04:05Z0700", "15:04:05Z07", "15:04", "15:04Z07:00", "03:04:05PM"}

// ParseTime reads a time or a date as logs, tables and databases write it: zero if it isn't one, or if day and month could be
// either. Without a zone it is UTC. All formats whose own grammar doesn't say what a time looks like read theirs with it.
func ParseTime(s string) time.Time {
	s = strings.Trim(s, " \t[]")
	switch {
	case len(s) < 4:
		return time.Time{}
	case strings.Trim(s, "0123456789") == "":
		if n := len(s); s[0] == '1' && n >= 10 && (n-10)%3 == 0 && n <= 19 { // since 1970, until 2033; as a date it would be before 2000
			epoch, _ := strconv.ParseInt(s+strings.Repeat("0", 19-n), 10, 64)
			return time.Unix(0, epoch).UTC()
		}
		if s[:2] != "19" && s[:2] != "20" { // a number
			return time.Time{}
		}
		return digitTime(s)
	case len(s) >= 10 && strings.Trim(s[:4], "0123456789") == "" && (s[4] == '-' || s[4] == '/') && s[7] == s[4]:
		if t := layoutTime(time.RFC3339, s); !t.IsZero() {
			return t
		}
		day, clock := strings.ReplaceAll(s[:10], "/", "-"), strings.TrimPrefix(strings.ReplaceAll(s[10:], " ", ""), "T")
		clock = strings.TrimSuffix(strings.TrimSuffix(clock, "UTC"), "GMT")
		if clock == "" {
			return layoutTime(time.DateOnly, day)
		}
		for _, layout := range clockLayouts {
			if t := layoutTime("2006-01-02T"+layout, day+"T"+clock); !t.IsZero() {
				return t
			}
		}
		return time.Time{}
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		if seconds > 1e8 && seconds < 1<<40 {
			return time.UnixMilli(int64(seconds * 1000)).UTC()
		}
		return time.Time{}
	}
	for _, layout := range timeLayouts {
		if t := layoutTime(layout, s); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
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

// layoutTime reads a time in a layout of package time; zero if it isn't one, or if the name of its zone means another one elsewhere. time.Parse
// would look names and offsets up in the zone of the machine.
func layoutTime(layout, s string) time.Time {
	t, err := time.ParseInLocation(layout, s, time.UTC)
	if zone, offset := t.Zone(); err != nil || offset == 0 && !slices.Contains([]string{"", "UTC", "GMT"}, zone) {
		return time.Time{}
	}
	return t.UTC()
}

// bad is the error of an unreadable unit.
func bad(format string, args ...any) error { return fmt.Errorf(format, args...) }
