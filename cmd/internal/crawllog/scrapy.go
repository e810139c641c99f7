package crawllog

import (
	"strings"
	"time"
)

// parseScrapy reads a Scrapy log. Each message of one of these forms is a record: a URL that was
// crawled, that the dupefilter dropped (every time only with DUPEFILTER_DEBUG), or that
// redirected. Stack traces, items and statistics are not records.
//
//	Crawled (200) <GET url> (referer: url)
//	Filtered duplicate request: <GET url> (referer: url)
//	Redirecting (301) to <GET b> from <GET a>
func parseScrapy(text string, emit func(Record)) error {
	stamp, message, ok := scrapyMessage(text)
	if !ok {
		return errSkip // what a message went on with
	}
	r := Record{Time: stamp}
	switch {
	case strings.HasPrefix(message, "Crawled ("):
		r.Status = int(number(between(message, "(", ")")))
		r.Kind = Fetch
	case strings.HasPrefix(message, "Filtered duplicate request: "):
		r.Kind = Link
	case strings.HasPrefix(message, "Redirecting ("):
		r.Status = int(number(between(message, "(", ")")))
		r.Redirect = requestURL(message)
		_, message, _ = strings.Cut(message, " from ")
	default:
		return errSkip
	}
	if r.URL = requestURL(message); r.URL == "" {
		return bad("got no request in %q", message)
	}
	if via := between(message, "(referer: ", ")"); via != "None" {
		r.Via = via
	}
	emit(r)
	return nil
}

// scrapyMessage cuts "YYYY-MM-DD hh:mm:ss [logger] LEVEL: " off.
func scrapyMessage(text string) (time.Time, string, bool) {
	const layout = "2006-01-02 15:04:05"
	if len(text) < len(layout)+2 || text[len(layout):len(layout)+2] != " [" {
		return time.Time{}, "", false
	}
	at := layoutTime(layout, text[:len(layout)])
	_, level, ok := strings.Cut(text, "] ")
	_, message, ok2 := strings.Cut(level, ": ")
	return at, message, ok && ok2 && !at.IsZero()
}

// requestURL is the URL of the first "<METHOD url>". A URL may hold ">".
func requestURL(s string) string {
	_, s, ok := strings.Cut(s, "<")
	_, url, ok2 := strings.Cut(s, " ")
	for _, end := range []string{"> (", "> from <", ">"} {
		if i := strings.Index(url, end); ok && ok2 && i >= 0 {
			return url[:i]
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

// detectScrapy is parseScrapy for telling the format: any message will do.
func detectScrapy(text string, emit func(Record)) error {
	if _, _, ok := scrapyMessage(text); !ok {
		return errSkip
	}
	emit(Record{})
	return nil
}
