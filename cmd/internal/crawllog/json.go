package crawllog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/cmd/internal/input"
)

// A jsonParser reads logs of one JSON object a line. It detects by the keys which program wrote
// the log: index servers (Common Crawl, Wayback), Scrapy feeds, Nutch, StormCrawler's
// status index, URLFrontier dumps, nginx with escape=json. It also accepts plain URLs between the
// objects, which URLFrontier's input files have.
type jsonParser struct {
	opt     Options
	columns []string // of an answer in arrays, whose first row names the columns
}

// objectFields is the union of the keys that are looked at.
type objectFields struct {
	indexObject
	fields struct {
		Timestamp     loose           `json:"timestamp"`
		StatusCode    *loose          `json:"statusCode"` // Nutch
		FetchTime     loose           `json:"fetchTime"`
		Signature     loose           `json:"signature"`
		Metadata      map[string]any  `json:"metadata"`
		NextFetchDate loose           `json:"nextFetchDate"`
		Known         *frontierItem   `json:"known"` // URLFrontier
		Discovered    *frontierItem   `json:"discovered"`
		CreationDate  loose           `json:"creationDate"`
		Request       json.RawMessage `json:"request"` // text of nginx, or object of Caddy
		Size          int64           `json:"size"`    // Caddy
		TS            json.RawMessage `json:"ts"`
		RequestPath   *string         `json:"RequestPath"` // Traefik
		RequestHost   string          `json:"RequestHost"`
		RequestAddr   string          `json:"RequestAddr"`
		RequestScheme string          `json:"RequestScheme"`
		Downstream    int             `json:"DownstreamStatus"`
		ContentSize   int64           `json:"DownstreamContentSize"`
		StartUTC      string          `json:"StartUTC"`
		Referer       string          `json:"request_Referer"`
		Host          string          `json:"host"`
		Time          string          `json:"time"`
		Response      string          `json:"response_text"` // recorded answers of an index server
	}
}

// frontierItem is a URLItem of the URLFrontier protocol in its JSON form.
type frontierItem struct {
	Info struct {
		URL      string `json:"url"`
		Metadata map[string]struct {
			Values []string `json:"values"`
		} `json:"metadata"`
	} `json:"info"`
}

// decode reads the JSON of a line. json.Unmarshal would replace invalid UTF-8 by U+FFFD, and so
// turn different URLs into one. nginx writes the bytes of a request unchanged; decode turns
// invalid ones into percent escapes. It refuses half of a surrogate pair, which has no bytes.
func decode(text string, v any) error {
	b := escapeBytes(text)
	err := input.CheckJSON(b)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return bad("cannot read JSON: %w", err)
	}
	return nil
}

// escapeBytes returns text with percent escapes for the bytes that are not UTF-8.
func escapeBytes(text string) []byte {
	if utf8.ValidString(text) {
		return []byte(text)
	}
	var out []byte
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			out = fmt.Appendf(out, "%%%02X", text[i])
		} else {
			out = append(out, text[i:i+size]...)
		}
	}
	return out
}

func (p *jsonParser) line(text string, emit func(Record)) error {
	text = strings.TrimSuffix(strings.TrimSpace(text), ",")
	switch {
	case text == "" || text == "[" || text == "]":
		return errSkip
	case text[0] == '[':
		return p.row(text, emit)
	case text[0] != '{':
		return parseList(text, emit)
	}
	var o objectFields
	if err := decode(text, &o.fields); err != nil {
		return err
	}
	if o.fields.Response != "" {
		return p.response(o.fields.Response, emit)
	}
	if p.opt.URLField != "" {
		return p.named(text, emit)
	}
	if err := decode(text, &o.indexObject); err != nil {
		return err
	}
	return p.object(o, emit)
}

func (p *jsonParser) object(o objectFields, emit func(Record)) error {
	var r Record
	switch {
	case o.fields.Known != nil:
		r = o.fields.Known.record(Fetch)
	case o.fields.Discovered != nil:
		r = o.fields.Discovered.record(Link)
	case len(o.fields.Request) > 0 && o.fields.Request[0] == '"':
		r = p.nginx(o)
	case len(o.fields.Request) > 0 && o.fields.Request[0] == '{':
		var err error
		if r, err = caddy(o); err != nil {
			return err
		}
	case o.fields.RequestPath != nil:
		r = p.traefik(o)
	case o.URL == "":
		return bad("got an object without a URL")
	case o.fields.StatusCode != nil:
		r = nutchRecord(o.URL, int(number(string(*o.fields.StatusCode))))
		r.Time, r.Digest = layoutTime(nutchTime, string(o.fields.FetchTime)), given(string(o.fields.Signature))
	case stormStatus(string(o.Status)):
		r = storm(o)
	default:
		r = o.capture()
		r.Time = anyTime(string(o.fields.Timestamp))
	}
	emit(r)
	return nil
}

// anyTime reads a time of an index server, or of a feed as its spider wrote it.
func anyTime(s string) time.Time {
	if t := digitTime(s); !t.IsZero() {
		return t
	}
	if t := layoutTime(time.RFC1123, s); !t.IsZero() {
		return t
	}
	return layoutTime(time.RFC3339, s)
}

func (i *frontierItem) record(kind Kind) Record {
	r := Record{URL: i.Info.URL, Kind: kind}
	if to := i.Info.Metadata["_redirTo"].Values; len(to) > 0 {
		r.Redirect = to[0]
	}
	if code := i.Info.Metadata["fetch.statusCode"].Values; len(code) > 0 {
		r.Status = int(number(code[0]))
	}
	return r
}

func (p *jsonParser) nginx(o objectFields) Record {
	base := p.opt.Base
	if o.fields.Host != "" {
		base = "http://" + o.fields.Host
	}
	r := Record{Status: int(number(string(o.Status))), Time: layoutTime(time.RFC3339, o.fields.Time)}
	var request string
	_ = json.Unmarshal(o.fields.Request, &request) // it is a text: the object was decoded before
	r.URL, r.Kind = accessParser("").url(base, request)
	return r
}

// caddy reads an entry of Caddy's access log.
func caddy(o objectFields) (Record, error) {
	var request struct {
		Host, URI string
		TLS       *struct{}
		Headers   map[string][]string
	}
	if err := json.Unmarshal(o.fields.Request, &request); err != nil {
		return Record{}, bad("cannot read the request: %w", err)
	}
	if request.Host == "" || request.URI == "" {
		return Record{}, bad("got a request without host and uri")
	}
	r := Record{URL: request.URI, Kind: Other, Status: int(number(string(o.Status))), Length: o.fields.Size}
	if strings.HasPrefix(request.URI, "/") {
		r.URL, r.Kind = "http://"+request.Host+request.URI, Fetch
		if request.TLS != nil {
			r.URL = "https" + strings.TrimPrefix(r.URL, "http")
		}
	}
	if seconds, err := strconv.ParseFloat(string(o.fields.TS), 64); err == nil && seconds > 0 && seconds < 1<<40 {
		r.Time = time.UnixMilli(int64(seconds * 1000)).UTC()
	}
	if referer := request.Headers["Referer"]; len(referer) > 0 {
		r.Via = referer[0]
	}
	return r, nil
}

// traefik reads an entry of Traefik's access log in JSON.
func (p *jsonParser) traefik(o objectFields) Record {
	f := &o.fields
	r := Record{URL: *f.RequestPath, Kind: Other, Status: f.Downstream, Length: f.ContentSize, Via: f.Referer, Time: layoutTime(time.RFC3339Nano, f.StartUTC)}
	if !strings.HasPrefix(r.URL, "/") {
		return r
	}
	r.Kind = Fetch
	switch host := first(f.RequestAddr, f.RequestHost); { // only the first has the port
	case host == "" || host == "-":
		r.URL = p.opt.Base + r.URL
	case f.RequestScheme == "https":
		r.URL = "https://" + host + r.URL
	default:
		r.URL = "http://" + host + r.URL
	}
	return r
}

// stormStatus reports whether s is a status of StormCrawler, not of HTTP.
func stormStatus(s string) bool {
	switch s {
	case "DISCOVERED", "FETCHED", "FETCH_ERROR", "REDIRECTION", "ERROR":
		return true
	}
	return false
}

func storm(o objectFields) Record {
	r := Record{URL: o.URL, Kind: Fetch}
	if o.Status == "DISCOVERED" {
		r.Kind = Link
	}
	r.Status = int(number(metadata(o, "fetch%2EstatusCode", "fetch.statusCode")))
	r.Digest = metadata(o, "_digest")
	r.Redirect = metadata(o, "_redirTo")
	return r
}

// metadata is the first value of a key; StormCrawler escapes the dot in names.
func metadata(o objectFields, keys ...string) string {
	for _, key := range keys {
		switch v := o.fields.Metadata[key].(type) {
		case string:
			return v
		case []any:
			if len(v) > 0 {
				s, _ := v[0].(string)
				return s
			}
		}
	}
	return ""
}

// response reads the lines inside a recorded answer.
func (p *jsonParser) response(text string, emit func(Record)) error {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		sink := func(r Record) { found = true; emit(r) }
		var err error
		if strings.HasPrefix(line, "{") {
			err = p.line(line, sink)
		} else {
			err = parseCDXJ(line, sink)
		}
		_ = err // an answer that isn't one of captures: a message, a web page
	}
	if !found {
		return errSkip
	}
	return nil
}

// named reads an object whose URL is in the field that was asked for.
func (p *jsonParser) named(text string, emit func(Record)) error {
	var all map[string]any
	if err := decode(text, &all); err != nil {
		return err
	}
	url, ok := all[p.opt.URLField].(string)
	if !ok {
		return bad("got no text in field %q", p.opt.URLField)
	}
	emit(Record{URL: url, Kind: Link})
	return nil
}

// row reads an answer in arrays, as the Wayback CDX server writes it with output=json.
func (p *jsonParser) row(text string, emit func(Record)) error {
	var cells []string
	one := strings.Replace(strings.Replace(text, "[[", "[", 1), "]]", "]", 1)
	if err := decode(one, &cells); err != nil {
		return err
	}
	if p.columns == nil {
		p.columns = cells
		return errSkip
	}
	cell := func(name string) string {
		for i, c := range p.columns {
			if c == name && i < len(cells) {
				return cells[i]
			}
		}
		return ""
	}
	r := indexObject{URL: cell("original"), MIME: loose(cell("mimetype")), Status: loose(cell("statuscode")),
		Digest: loose(cell("digest")), Length: loose(cell("length"))}.capture()
	r.Time = digitTime(cell("timestamp"))
	if r.URL == "" {
		return bad("got a row without a URL")
	}
	emit(r)
	return nil
}

func (p *jsonParser) end(func(Record)) error { return nil }
