package logs

import (
	"cmp"
	"strings"
	"time"
)

// A scrapyParser reads a Scrapy log. Each message of one of these forms is a record: a URL that was
// crawled, that the dupefilter dropped (every time only with DUPEFILTER_DEBUG), or that
// redirected. Stack traces, items and statistics are not records.
//
//	Crawled (200) <GET url> (referer: url)
//	Filtered duplicate request: <GET url> (referer: url)
//	Gave up retrying <GET url> (failed 3 times): reason
//	Redirecting (301) to <GET b> from <GET a>
//
// scrapy-splash and others write " via url" behind the URL of the page.
type scrapyParser struct {
	atOnce

	begun bool
}

func (p *scrapyParser) line(text string, emit func(Record)) error {
	stamp, message, ok := scrapyMessage(text)
	switch {
	case strings.TrimSpace(text) == "":
		return isBlankLine
	case !ok && !p.begun:
		return bad("got no time, logger and level; want a message of Scrapy")
	case !ok:
		return other("what a message went on with")
	}
	p.begun = true
	r := Record{Time: stamp}
	status := between(message, "(", ")")
	switch {
	case strings.HasPrefix(message, "Crawled ("):
	case strings.HasPrefix(message, "Filtered duplicate request: "), strings.HasPrefix(message, "Gave up retrying "):
		r.Kind = Link
	case strings.HasPrefix(message, "Redirecting ("):
		r.Redirect = scrapyURL(message)
		_, message, _ = strings.Cut(message, " from ")
	default:
		return other("a message without a request; at LOG_LEVEL = 'DEBUG' Scrapy logs those")
	}
	if r.URL = scrapyURL(message); r.URL == "" {
		return bad("got no request in %q", message)
	}
	if r.Kind == Fetch {
		r.answered(cmp.Or(strings.TrimPrefix(status, "meta refresh"), "200"))
	}
	if via := between(message, "(referer: ", ")"); via != "None" {
		r.Via = via
	}
	emit(r)
	return nil
}

// scrapyMessage cuts "YYYY-MM-DD hh:mm:ss [logger] LEVEL: " off.
func scrapyMessage(text string) (time.Time, string, bool) {
	stamp, rest, _ := strings.Cut(text, " [")
	at := layoutTime(time.DateTime, stamp)
	_, rest, _ = strings.Cut(rest, "] ")
	_, message, ok := strings.Cut(rest, ": ")
	return at, message, ok && !at.IsZero()
}

// scrapyURL is the URL of the first "<METHOD url>". A URL may hold ">".
func scrapyURL(s string) string {
	_, s, ok := strings.Cut(s, "<")
	_, url, ok2 := strings.Cut(s, " ")
	for _, end := range []string{"> (", "> from <", ">"} {
		if i := strings.Index(url, end); ok && ok2 && i >= 0 {
			url, _, _ = strings.Cut(url[:i], " via http")
			return url
		}
	}
	return ""
}

func between(s, from, to string) string {
	_, s, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	if to == ")" && strings.HasSuffix(s, ")") && from != "(" {
		return strings.TrimSuffix(s, ")") // URLs hold parentheses
	}
	s, _, _ = strings.Cut(s, to)
	return s
}
