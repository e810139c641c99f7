package crawllog

import (
	"bytes"
	"net/url"
	"strings"
	"time"
)

// A w3cParser reads logs in the extended log file format of the W3C (WD-logfile-960323),
// as IIS and CloudFront write them. A line "#Fields:" names the columns, and may come again
// with others. Where no column names the host, base is put before the paths.
type w3cParser struct {
	base   string
	names  []string
	column map[string]int
	cells  []string // of the line that is read
}

// isW3C reports whether a log begins with directives, "#Fields:" among them.
func isW3C(head []byte) bool {
	for line := range bytes.Lines(head) {
		switch {
		case bytes.HasPrefix(line, []byte("#Fields:")):
			return true
		case !bytes.HasPrefix(line, []byte("#")):
			return false
		}
	}
	return false
}

func (p *w3cParser) line(text string, emit func(Record)) error {
	if fields, ok := strings.CutPrefix(text, "#Fields:"); ok {
		p.names, p.column = strings.Fields(fields), map[string]int{}
		for i, name := range p.names {
			p.column[name] = i
		}
		if !p.has("cs-uri-stem") && !p.has("cs-uri") {
			p.names = nil
			return bad("got columns %q; want cs-uri-stem or cs-uri among them", strings.Fields(fields))
		}
		return errSkip
	}
	switch {
	case strings.HasPrefix(text, "#") || strings.TrimSpace(text) == "":
		return errSkip
	case p.names == nil:
		return bad("got a line without #Fields before it that name the column of a URL")
	case strings.Contains(text, "\t"):
		p.cells = strings.Split(text, "\t")
	default:
		p.cells = columns(text)
	}
	if len(p.cells) != len(p.names) {
		return bad("got %d columns; want the %d of #Fields", len(p.cells), len(p.names))
	}
	r := Record{Time: layoutTime(time.DateTime, p.get("date")+" "+p.get("time")), Status: int(number(p.get("sc-status"))),
		Length: number(p.get("sc-bytes")), Via: p.get("cs(Referer)")}
	r.URL, r.Kind = p.url()
	emit(r)
	return nil
}

func (p *w3cParser) end(func(Record)) error { return nil }

func (p *w3cParser) has(name string) bool {
	_, ok := p.column[name]
	return ok
}

// get returns the value of the first of the columns that has one.
func (p *w3cParser) get(names ...string) string {
	for _, name := range names {
		if i, ok := p.column[name]; ok && i < len(p.cells) && p.cells[i] != "-" {
			return p.cells[i]
		}
	}
	return ""
}

func (p *w3cParser) url() (string, Kind) {
	target := p.get("cs-uri", "cs-uri-stem")
	if query := p.get("cs-uri-query"); query != "" && !p.has("cs-uri") {
		target += "?" + query
	}
	if p.has("x-edge-location") { // CloudFront escapes its fields twice
		if plain, err := url.PathUnescape(target); err == nil {
			target = plain
		}
	}
	switch {
	case isURL(strings.ReplaceAll(target, " ", "+")):
		return target, Fetch
	case !strings.HasPrefix(target, "/"):
		return target, Other
	}
	host := p.get("x-host-header", "cs-host", "cs(Host)")
	if host == "" {
		return p.base + target, Fetch
	}
	port, scheme := p.get("s-port"), strings.ToLower(p.get("cs-protocol"))
	if scheme != "http" && scheme != "https" {
		if scheme = "http"; port == "443" {
			scheme = "https"
		}
	}
	if port != "" && port != "80" && port != "443" && !strings.Contains(strings.TrimPrefix(host, "["), ":") {
		host += ":" + port
	}
	return scheme + "://" + host + target, Fetch
}
