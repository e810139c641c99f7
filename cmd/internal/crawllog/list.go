package crawllog

import (
	"strings"
)

// parseList reads a line that is a URL. Blank lines hold no record.
func parseList(text string, emit func(Record)) error {
	if strings.TrimSpace(text) == "" {
		return errSkip
	}
	emit(Record{URL: text, Kind: Link})
	return nil
}

// detectList detects a line that contains only a URL.
func detectList(text string, emit func(Record)) error {
	if !isURL(strings.TrimSpace(text)) {
		return errSkip
	}
	return parseList(text, emit)
}

// A tableParser reads lines of columns, one of which is a URL: the file of a
// StormCrawler spout (url, then key=value), counts beside URLs, lists of pages.
// The column is the one that held a URL first.
type tableParser struct {
	sep    string
	column int
	known  bool
}

func (p *tableParser) line(text string, emit func(Record)) error {
	if strings.TrimSpace(text) == "" {
		return errSkip
	}
	if !p.known && !p.learn(text) {
		return errSkip // a header
	}
	fields := strings.Split(text, p.sep)
	if len(fields) <= p.column {
		return bad("got %d columns; want a URL in column %d", len(fields), p.column+1)
	}
	emit(Record{URL: strings.Trim(fields[p.column], `"`), Kind: Link})
	return nil
}

// learn finds the column in a first line. Commas separate only where the line isn't
// a URL itself: URLs hold them, too.
func (p *tableParser) learn(text string) bool {
	for _, sep := range []string{"\t", ","} {
		fields := strings.Split(text, sep)
		if len(fields) < 2 || sep == "," && isURL(fields[0]) {
			continue
		}
		for i, field := range fields {
			if isURL(strings.Trim(field, `"`)) {
				p.sep, p.column, p.known = sep, i, true
				return true
			}
		}
	}
	return false
}

func (p *tableParser) end(func(Record)) error { return nil }

// isURL reports whether a text begins like the URL of a fetch.
func isURL(s string) bool {
	i := strings.Index(s, "://")
	return i > 0 && i < 12 && len(s) > i+3 && strings.Trim(strings.ToLower(s[:i]), "abcdefghijklmnopqrstuvwxyz") == "" &&
		!strings.ContainsAny(s, " \t")
}
