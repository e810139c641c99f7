package crawllog

import (
	"strings"
	"time"
)

// A wgetParser reads the logs of wget, verbose and -nv. Times are local and have no
// zone; they are read as UTC. A verbose log has several lines for a fetch:
//
//	--2006-01-02 15:04:05--  http://a.example/
//	HTTP request sent, awaiting response... 301 Moved Permanently
//	Location: http://b.example/ [following]
//	Length: 3521 (3.4K) [text/html]
type wgetParser struct {
	r       Record
	started bool
	number  int64
}

const wgetTime = "2006-01-02 15:04:05"

func (p *wgetParser) line(text string, emit func(Record)) error {
	p.number++
	if r, ok := wgetBrief(text); ok {
		emit(r)
		return nil
	}
	if r, ok := wgetBegin(text); ok {
		err := p.end(emit)
		p.r, p.started = r, true
		p.r.Line = p.number
		return err
	}
	if p.started && p.detail(text) {
		return nil
	}
	return errSkip
}

// detail adds the data of a line to the fetch that began before.
func (p *wgetParser) detail(text string) bool {
	switch {
	case strings.Contains(text, "awaiting response... "):
		_, answer, _ := strings.Cut(text, "awaiting response... ")
		code, _, _ := strings.Cut(answer, " ")
		p.r.Status = int(number(code))
	case strings.HasPrefix(text, "Location: "):
		p.r.Redirect = strings.TrimSuffix(strings.TrimPrefix(text, "Location: "), " [following]")
	case strings.HasPrefix(text, "Length: "):
		length, _, _ := strings.Cut(strings.TrimPrefix(text, "Length: "), " ")
		p.r.Length = number(length)
		p.r.MIME = between(text, "[", "]")
	default:
		return false
	}
	return true
}

func (p *wgetParser) end(emit func(Record)) error {
	if p.started {
		p.started = false
		emit(p.r)
	}
	return nil
}

// wgetBegin reads "--time--  url".
func wgetBegin(text string) (Record, bool) {
	if !strings.HasPrefix(text, "--") || len(text) < 26 || text[21:23] != "--" {
		return Record{}, false
	}
	at := layoutTime(wgetTime, text[2:21])
	return Record{URL: strings.TrimLeft(text[23:], " "), Kind: Fetch, Time: at}, !at.IsZero()
}

// wgetBrief reads the line of -nv: `time URL:url [got/total] -> "file" [try]`.
func wgetBrief(text string) (Record, bool) {
	if len(text) < 24 || text[19:24] != " URL:" {
		return Record{}, false
	}
	at := layoutTime(wgetTime, text[:19])
	url, _, ok := cutLast(text[24:], " -> ")
	if !ok || at.IsZero() {
		return Record{}, false
	}
	r := Record{URL: strings.TrimSpace(url), Kind: Fetch, Time: at}
	if u, size, ok := cutLast(r.URL, " ["); ok {
		got, _, _ := strings.Cut(size, "/")
		r.URL, r.Length = u, number(strings.TrimSuffix(got, "]"))
	} else {
		r.URL, _, _ = strings.Cut(r.URL, " ")
	}
	return r, true
}

// detectWget is the parser for telling the format: one line must do.
func detectWget(text string, emit func(Record)) error {
	_, brief := wgetBrief(text)
	if _, begin := wgetBegin(text); begin || brief {
		emit(Record{Time: time.Time{}})
		return nil
	}
	return errSkip
}
