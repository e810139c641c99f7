package crawllog

import (
	"errors"
	"strings"
)

// A cdxParser reads CDX files (IIPC CDX 2006 and 2015). A header names the columns by letters;
// without a header, the number of columns determines them. A merged file can have several headers.
// Nothing is escaped: a URL with a blank splits into two columns, so the columns after
// the URL are counted from the right.
type cdxParser struct {
	layout  cdxLayout
	headed  bool
	learned int // columns the layout was guessed for
}

// A cdxLayout is the places of the columns; -1 where there is none. Places behind
// the URL count from the end of a line.
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

func (p *cdxParser) line(text string, emit func(Record)) error {
	if isCDXHeader(text) {
		layout, ok := headerLayout(text)
		if !ok {
			return bad("got a CDX header without a URL column: %q", text)
		}
		p.layout, p.headed = layout, true
		return errSkip
	}
	fields := strings.Split(strings.TrimRight(text, " "), " ")
	if !p.headed && p.learned == 0 {
		layout, ok := guessLayout(fields)
		if !ok {
			return bad("got %d columns; want a CDX line", len(fields))
		}
		p.layout, p.learned = layout, len(fields)
	}
	if two := p.layout.columns - 1; two > 9 && len(fields) == p.layout.columns+two && p.layout.plausible(fields) && p.layout.plausible(fields[two:]) {
		// The parts of a ZipNum index can be joined without a line end: the file name of
		// one line and the key of the next are one column, and neither is used.
		err := p.record(fields[:p.layout.columns], emit)
		return errors.Join(err, p.record(fields[two:], emit))
	}
	return p.record(fields, emit)
}

// detectCDX detects a CDX line, with or without a capture.
func detectCDX(text string, emit func(Record)) error {
	fields := strings.Split(strings.TrimRight(text, " "), " ")
	if _, ok := guessLayout(fields); !ok {
		return errSkip
	}
	emit(Record{})
	return nil
}

// plausible reports whether the fields have a time and a URL.
func (l cdxLayout) plausible(fields []string) bool {
	return l.time >= 0 && len(fields[l.time]) >= 4 && !digitTime(fields[l.time]).IsZero() && strings.Contains(fields[l.url], ":")
}

func (p *cdxParser) record(fields []string, emit func(Record)) error {
	l := p.layout
	more := len(fields) - l.columns // blanks in the URL, or columns of revisits
	if more < 0 {
		return bad("got %d columns; want %d", len(fields), l.columns)
	}
	if more == 3 && strings.HasPrefix(fields[len(fields)-3], "-") {
		fields, more = fields[:l.columns], 0 // resolved by pywb: nothing
	}
	get := func(place int) string {
		switch {
		case place < 0:
			return ""
		case place > l.url:
			return fields[place+more]
		}
		return fields[place]
	}
	r := Record{URL: strings.Join(fields[l.url:l.url+1+more], " "), Time: digitTime(get(l.time)), MIME: given(get(l.mime)),
		Status: int(number(get(l.status))), Digest: bareDigest(get(l.digest)), Redirect: redirectColumn(get(l.redir)), Length: number(get(l.len))}
	if r.Time.IsZero() {
		return bad("got time %q; want digits", get(l.time))
	}
	r.Kind = kindOf(r.URL, Fetch)
	switch {
	case r.MIME == "warc/revisit":
		r.Kind = kindOf(r.URL, Revisit)
	case l.status >= 0 && r.Status == 0:
		return errSkip // a request or metadata record, which repeats the URL
	}
	emit(r)
	return nil
}

// redirectColumn undoes what wget does to an absolute target: it escapes the colon.
func redirectColumn(s string) string {
	if i := strings.Index(s, "%3A//"); i > 0 && i < 6 {
		return s[:i] + "://" + s[i+len("%3A//"):]
	}
	return given(s)
}

func (p *cdxParser) end(func(Record)) error { return nil }
