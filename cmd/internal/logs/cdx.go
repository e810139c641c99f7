package logs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A cdxParser reads CDX files (IIPC CDX 2006 and 2015). A header names the columns by letters;
// without a header, the number of columns determines them. A merged file can have several headers.
//
// Nothing is escaped, and both the URL and the target of a redirect can hold blanks, so a line can have more columns than
// its header. Counting the columns behind the URL from the right, as most readers do, puts the blanks of a target into
// the URL. So a line is cut where the columns between the two can be what they are: a type, a
// status of three digits or "-", a digest. If that is nowhere so, or in several places, the line is refused.
type cdxParser struct {
	atOnce

	layout  cdxLayout
	headed  bool
	learned bool
}

// A cdxLayout is the places of the columns; -1 where there is none.
type cdxLayout struct {
	columns                                     int
	url, time, mime, status, digest, redir, len int
}

// isCDXHeader reports whether a line is a header " CDX N b a …", with any separator.
func isCDXHeader(line string) bool {
	return len(line) > 5 && line[1:4] == "CDX" && line[0] == line[4] && line[0] != '"'
}

// headerLayout reads the letters. A letter that comes twice (wget writes a, the URL,
// at both ends of its key) counts where it comes last.
func headerLayout(line string) (cdxLayout, bool) {
	letters := strings.Split(line[5:], line[:1])
	at := map[string]int{}
	for i, letter := range letters {
		at[strings.TrimSpace(letter)] = i
	}
	place := func(names ...string) int {
		for _, name := range names {
			if i, ok := at[name]; ok {
				return i
			}
		}
		return -1
	}
	l := cdxLayout{columns: len(letters), url: place("a"), time: place("b"), mime: place("m"), status: place("s"),
		digest: place("k", "c"), redir: place("r"), len: place("S", "n")}
	return l, l.url >= 0
}

// guessLayout is the layout of a file without a header, of which fields is a line. Those
// with 12 to 14 columns are those of 9 to 11 with pywb's three columns of the original behind.
func guessLayout(fields []string) (cdxLayout, bool) {
	n := len(fields)
	var all []cdxLayout
	switch n {
	case 6, 7:
		all = []cdxLayout{
			{n, 2, 1, 3, 4, 5, -1, n - 1}, // Wayback CDX server
			{n, 0, 2, 3, -1, -1, -1, 4},   // NetarchiveSuite: url ip date mime size file offset
		}
	case 8: // the same with an MD5
		all = []cdxLayout{{n, 0, 2, 3, -1, 7, -1, 4}}
	case 9, 10, 12, 13:
		all = []cdxLayout{{n, 2, 1, 3, 4, 5, 6, -1}}
	case 11, 14:
		all = []cdxLayout{{n, 2, 1, 3, 4, 5, 6, 8}}
	}
	for _, l := range all {
		if l.plausible(fields) {
			return l, true
		}
	}
	return cdxLayout{}, false
}

// plausible reports whether the fields have a time and a URL.
func (l cdxLayout) plausible(fields []string) bool {
	return l.time >= 0 && len(fields[l.time]) >= 4 && !digitTime(fields[l.time]).IsZero() && strings.Contains(fields[l.url], ":")
}

func (p *cdxParser) line(text string, emit func(Record)) error {
	switch {
	case strings.TrimSpace(text) == "":
		return isBlankLine
	case isCDXHeader(text):
		layout, ok := headerLayout(text)
		if !ok {
			return bad("got a CDX header without a URL column: %q", text)
		}
		p.layout, p.headed = layout, true
		return isHeader
	}
	fields := strings.Split(strings.TrimRight(text, " "), " ")
	if !p.headed && !p.learned {
		if p.layout, p.learned = guessLayout(fields); !p.learned {
			return bad("got %d columns; want a CDX line", len(fields))
		}
	}
	if two := p.layout.columns - 1; two > 9 && len(fields) == p.layout.columns+two && p.layout.plausible(fields) && p.layout.plausible(fields[two:]) {
		// The parts of a ZipNum index can be joined without a line end: the file name of
		// one line and the key of the next are one column, and neither is used.
		return cmp.Or(p.record(fields[:p.layout.columns], emit), p.record(fields[two:], emit))
	}
	return p.record(fields, emit)
}

func (p *cdxParser) record(fields []string, emit func(Record)) error {
	l := p.layout
	if l.time < 0 {
		return bad("got no time; want a column b in the header")
	}
	if len(fields) < l.columns {
		return bad("got %d columns; want %d", len(fields), l.columns)
	}
	if len(fields) == l.columns+3 && strings.HasPrefix(fields[len(fields)-3], "-") {
		fields = fields[:l.columns] // resolved by pywb: nothing
	}
	more := len(fields) - l.columns // blanks in the URL or in the target, or columns of revisits
	inURL, err := l.blanks(fields, more)
	if err != nil {
		return err
	}
	inTarget := more - inURL
	get := func(place int) string {
		switch {
		case place < 0:
			return ""
		case place < l.url:
			return fields[place]
		case place == l.url:
			return strings.Join(fields[place:place+1+inURL], " ")
		case place == l.redir:
			return strings.Join(fields[place+inURL:place+inURL+1+inTarget], " ")
		case l.redir >= 0 && place < l.redir:
			return fields[place+inURL]
		}
		return fields[place+more]
	}
	r := Record{URL: get(l.url), Time: digitTime(get(l.time)), MIME: given(get(l.mime)),
		Digest: bareDigest(get(l.digest)), Redirect: redirectColumn(get(l.redir)), Length: number(get(l.len))}
	if r.Time.IsZero() {
		return bad("got time %q; want digits", get(l.time))
	}
	r.Kind = kindOf(r.URL, Fetch)
	switch status := get(l.status); {
	case r.MIME == "warc/revisit":
		r.Kind = kindOf(r.URL, Revisit)
		r.Status = int(number(status))
	case l.status >= 0 && given(status) == "" && (r.Kind == Other || r.MIME == "" || ofNoPage.MatchString(r.MIME)):
		return other("a request or metadata, beside the capture of its URL")
	case l.status >= 0:
		r.answered(status)
	}
	emit(r)
	return nil
}

// ofNoPage matches the types of records that only describe others. A status is also missing where pages were archived without their headers.
var ofNoPage = regexp.MustCompile(`^(?:warc[/-]|application/(?:http|warc))`)

// blanks returns how many of the blanks that are too many are in the URL. The others are in the target.
func (l cdxLayout) blanks(fields []string, more int) (int, error) {
	if l.status < l.url || l.digest < l.url {
		return more, nil
	}
	if l.redir < l.status || l.redir < l.digest {
		return more, l.check(fields, more)
	}
	var places []int
	var problem error
	for n := range more + 1 {
		if err := l.check(fields, n); err == nil {
			places = append(places, n)
		} else if problem = err; more > 0 {
			problem = bad("got %d columns; want %d, and none of the ways to cut them has a type, a status and a digest", len(fields), l.columns)
		}
	}
	switch len(places) {
	case 0:
		return 0, problem
	case 1:
		return places[0], nil
	}
	return 0, bad("got %d columns; want %d, and there are %d ways to cut them", len(fields), l.columns, len(places))
}

// check validates the columns between the URL and the redirect target, assuming that the URL contains n blanks.
func (l cdxLayout) check(fields []string, n int) error {
	if l.mime > l.url && n > 0 && !strings.Contains(fields[l.mime+n], "/") && !slices.Contains([]string{"-", "unk", "no-type"}, fields[l.mime+n]) {
		return bad("got type %q", fields[l.mime+n])
	}
	if s := fields[l.status+n]; s != "-" && (len(s) > 3 || strings.Trim(s, "0123456789") != "" || s == "") {
		return bad("got status %q; want digits or -", s)
	}
	if d := bareDigest(fields[l.digest+n]); strings.ContainsAny(d, "/.:@") || len(d) == 1 {
		return bad("got digest %q", fields[l.digest+n])
	}
	return nil
}

// redirectColumn undoes what wget does to an absolute target: it escapes the colon.
func redirectColumn(s string) string {
	if i := strings.Index(s, "%3A//"); i > 0 && i < 6 {
		return s[:i] + "://" + s[i+len("%3A//"):]
	}
	return given(s)
}
