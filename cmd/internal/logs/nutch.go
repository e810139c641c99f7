package logs

import (
	"strconv"
	"strings"
)

// The Nutch dumps ("readdb -dump") list a crawl database: one record a URL, whatever
// became of it. Status 1 is unfetched, 7 a duplicate of another page's content.
const (
	nutchHeader  = "Url,Status code,Status name,"
	nutchVersion = "\tVersion: "
	nutchTime    = "Mon Jan 02 15:04:05 MST 2006" // java.util.Date
	// nutchColumns is how many columns stand behind the URL in CSV.
	nutchColumns = 10
)

// parseNutchCSV reads -format csv. Quotes inside the URL aren't doubled, so the
// line is read from the right: the metadata is quoted, last, and begins behind `,"`.
func parseNutchCSV(text string, emit func(Record)) error {
	switch {
	case text == "":
		return isBlankLine
	case strings.HasPrefix(text, nutchHeader):
		return isHeader
	}
	// The status code is the first number behind a closing quote that is followed by a
	// quoted db_ name.
	before, rest, _ := strings.Cut(text, `,"db_`)
	url, code, ok := cutLast(strings.TrimPrefix(before, `"`), `",`)
	status, err := strconv.Atoi(code)
	if rest == "" || text[0] != '"' || !ok || err != nil {
		return bad("got no quoted URL, status code and status name; want a line of a Nutch CSV dump")
	}
	r := nutchRecord(url, status)
	fields := strings.SplitN(rest, ",", nutchColumns-1)
	if len(fields) == nutchColumns-1 {
		r.Time = layoutTime(nutchTime, fields[1])
		r.Digest = given(strings.Trim(fields[7], `"`))
	}
	emit(r)
	return nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// nutchStatus has the HTTP statuses that those of CrawlDatum stand for.
var nutchStatus = map[int]int{2: 200, 3: 404, 4: 302, 5: 301, 6: 304, 7: 200}

// nutchRecord makes the record of a URL with a status of CrawlDatum.
func nutchRecord(url string, status int) Record {
	r := Record{URL: url, Kind: Fetch, Status: nutchStatus[status]}
	switch status {
	case 1, 8: // unfetched, orphan
		r.Kind = Link
	case 6:
		r.Kind = Revisit
	}
	return r
}

// A nutchParser reads -format normal: "url TAB Version: 7", then a line for each
// field, then a blank line.
type nutchParser struct{ pending }

func (p *nutchParser) line(text string, emit func(Record)) error {
	p.number++
	if url, _, ok := strings.Cut(text, nutchVersion); ok {
		p.begin(Record{URL: url}, emit)
		return nil
	}
	name, value, _ := strings.Cut(text, ": ")
	switch {
	case text == "" && !p.started:
		return isBlankLine
	case text == "":
		p.end(emit)
	case !p.started:
		return bad("got %q; want a URL and its version first", text)
	case name == "Status":
		code, _, _ := strings.Cut(value, " ")
		r := nutchRecord(p.r.URL, int(number(code)))
		p.r.Kind, p.r.Status = r.Kind, r.Status
	case name == "Fetch time":
		p.r.Time = layoutTime(nutchTime, value)
	case name == "Signature":
		p.r.Digest = given(value)
	}
	return nil
}
