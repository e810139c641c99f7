package logs

import (
	"regexp"
	"strings"
)

// A wgetParser reads the logs of wget, verbose and -nv. Times are local and have no
// zone; they are read as UTC. A verbose log has several lines for a request, in the language of the user:
//
//	--2006-01-02 15:04:05--  http://a.example/
//	Connecting to a.example|192.0.2.1|:80... connected.
//	HTTP request sent, awaiting response... 301 Moved Permanently
//	Location: http://b.example/ [following]
//	Length: 3521 (3.4K) [text/html]
//
// A request without a status line was not answered, so its URL was only found. A second try has "(try: 2)" before the
// URL, and is a request of its own. wget can't be trusted to say "awaiting response" in English, so
// any line that ends "... 301 Text" has the status; some languages write the dots as one character.
type wgetParser struct {
	pending

	begun bool // there was a request
}

const wgetTime = "2006-01-02 15:04:05"

var (
	wgetStatus = regexp.MustCompile(`(?:\.\.\. |… ?)(?:HTTP/[\d.]+ )?([1-5]\d\d)(?: .*)?$`)
	wgetTry    = regexp.MustCompile(`^\([^)]*\d+\) +`)
)

func (p *wgetParser) line(text string, emit func(Record)) error {
	p.number++
	if strings.TrimSpace(text) == "" {
		return isBlankLine
	}
	if r, ok := wgetBrief(text); ok {
		p.begun = true
		emit(r)
		return nil
	}
	if url, ok := strings.CutSuffix(text, ":"); ok && isURL(url) && !p.started { // -nv: an error follows
		p.begun = true
		emit(Record{URL: url, Kind: Link})
		return nil
	}
	if r, ok := wgetBegin(text); ok {
		p.begin(r, emit)
		p.begun = true
		return nil
	}
	switch {
	case p.started:
		p.detail(text)
		return nil // a line of the request
	case p.begun || strings.HasPrefix(text, "Opening WARC file") || strings.HasPrefix(text, "Spider mode"):
		return other("a message of wget")
	}
	return bad("got no request before it")
}

// detail adds the data of a line to the request that began before. "Location" is whatever language calls it: its line ends with a
// bracket, and what is before it is a URL.
func (p *wgetParser) detail(text string) {
	name, value, _ := strings.Cut(text, ": ")
	status := wgetStatus.FindStringSubmatch(text)
	switch {
	case status != nil:
		p.r.Kind = Fetch
		p.r.answered(status[1])
	case name == "Location" || isURL(strings.TrimSuffix(value, " [following]")) && strings.HasSuffix(value, "]"):
		p.r.Redirect = strings.TrimSuffix(value, " [following]")
	case name == "Length":
		length, _, _ := strings.Cut(value, " ")
		p.r.Length = number(length)
		p.r.MIME = between(text, "[", "]")
	}
}

// wgetBegin reads "--time--  [(try: 2)  ]url".
func wgetBegin(text string) (Record, bool) {
	if !strings.HasPrefix(text, "--") || len(text) < 26 || text[21:23] != "--" {
		return Record{}, false
	}
	at := layoutTime(wgetTime, text[2:21])
	url := strings.TrimLeft(text[23:], " ")
	return Record{URL: strings.TrimPrefix(url, wgetTry.FindString(url)), Kind: Link, Time: at}, !at.IsZero()
}

// wgetBrief reads the line of -nv: `time URL:url [got/total] -> "file" [try]`, which is of an answer. It does not say which: it
// writes errors otherwise.
func wgetBrief(text string) (Record, bool) {
	if len(text) < 24 || text[19:24] != " URL:" {
		return Record{}, false
	}
	at := layoutTime(wgetTime, text[:19])
	url, _, ok := cutLast(text[24:], " -> ")
	url, size, sized := cutLast(strings.TrimSpace(url), " [")
	if !sized {
		url, _, _ = strings.Cut(url, " ")
	}
	got, _, _ := strings.Cut(strings.TrimSuffix(size, "]"), "/")
	return Record{URL: url, Kind: Fetch, Time: at, Length: number(got)}, ok && !at.IsZero()
}
