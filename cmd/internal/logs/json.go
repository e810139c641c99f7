package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A jsonParser reads logs of one JSON object a line, or of lines that have names with their values as one has (see keyed). It detects by the keys which program wrote
// the log: index servers (Common Crawl, Wayback), Scrapy feeds, Nutch, StormCrawler's
// status index, URLFrontier dumps, access logs of nginx, Apache, Caddy and Traefik, crawlers and scanners. It also accepts plain
// URLs between the objects, which URLFrontier's input files have. A field is read only for the program that is recognised.
type jsonParser struct {
	atOnce

	opt      Options
	columns  []string // of an answer in arrays, whose first row names the columns
	statuses bool     // other objects of the log have a status, so one without had no answer
	status   int      // of rows without names, 1 for the first cell; 0 while none had one
	depth    int      // of the containers around the object that is read
}

// decode reads the JSON of a line. json.Unmarshal would replace invalid UTF-8 by U+FFFD, and so
// turn different URLs into one. nginx writes the bytes of a request unchanged; decode turns
// invalid ones into percent escapes. It refuses half of a surrogate pair, which has no bytes.
func decode(text string, v any) error {
	b := escapeBytes(text)
	err := CheckJSON(b)
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
	case text == "":
		return isBlankLine
	case text == "[" || text == "]":
		return other("a bracket of JSON")
	}
	return p.value(text, emit)
}

// value reads an object, a row of an answer in arrays, or a URL.
func (p *jsonParser) value(text string, emit func(Record)) error {
	switch text[0] {
	case '[':
		return p.row(text, emit)
	case '"':
		var s string
		if err := decode(text, &s); err != nil || !isURL(s) {
			return bad("got a text that is no URL")
		}
		emit(Record{URL: s, Kind: Listed})
		return nil
	case '{':
		o := fields{}
		if err := decode(text, &o); err != nil {
			return err
		}
		return p.object(o, emit)
	}
	if o := keyed(text); o != nil {
		err := p.object(o, found(emit)) // its message may say that the fetch failed, or was put off
		if errors.Is(err, errNoURL) {
			return other("a message without a URL")
		}
		return err
	}
	emit(Record{URL: text, Kind: Link})
	return nil
}

// A pair of logfmt: key=value or key="value".
var pair = regexp.MustCompile(`^([\w.@/-]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?: +|$)`)

// keyed reads a line that has names with its values: logfmt, of Go's programs and Heroku, or LTSV (ltsv.org), where the host is that
// of the client. It returns nil for another line.
func keyed(text string) fields {
	o := fields{}
	if strings.Contains(text, "\t") {
		for cell := range strings.SplitSeq(text, "\t") {
			name, value, ok := strings.Cut(cell, ":")
			if !ok || strings.ContainsAny(name, " /") {
				return nil
			}
			switch name {
			case "host":
				name = "client"
			case "req":
				name = "request"
			}
			o[name], _ = json.Marshal(string(escapeBytes(given(value))))
		}
	} else {
		for text != "" {
			m := pair.FindStringSubmatch(text)
			if m == nil {
				return nil
			}
			value := m[2]
			if strings.HasPrefix(value, `"`) {
				value = unescape(value[1 : len(value)-1])
			}
			o[m[1]], _ = json.Marshal(string(escapeBytes(value)))
			text = text[len(m[0]):]
		}
	}
	if len(o) < 3 {
		return nil
	}
	return o
}

// programs recognise an object by its fields, and read it. The first that does is taken: one for the URL that is
// named, then those whose fields no other program has.
func (p *jsonParser) object(o fields, emit func(Record)) error {
	o.plain()
	url := o.match(vocabulary[aURL], func(s string) bool { return isURL(strings.ReplaceAll(s, " ", "+")) })
	if field := p.opt.URLField; field != "" {
		if url = o.text(field); url == "" {
			return bad("got no text in field %q", field)
		}
		if isHost(url) {
			if p.opt.Scheme == "" {
				return errNoScheme
			}
			url = p.opt.Scheme + "://" + url
		}
	}
	var r Record
	switch {
	case o.text("response_text") != "":
		return p.response(o.text("response_text"), emit)
	case o["known"] != nil:
		r = frontierItem(o, "known.info", Fetch)
	case o["discovered"] != nil:
		r = frontierItem(o, "discovered.info", Link)
	case url != "" && isStormStatus(o.text("status")):
		r = storm(o, url)
	case url != "" && o["statusCode"] != nil && (o["fetchTime"] != nil || o["statusName"] != nil):
		r = nutchRecord(url, int(number(o.text("statusCode"))))
		r.Time, r.Digest = layoutTime(nutchTime, o.text("fetchTime")), given(o.text("signature"))
	case url != "":
		r = o.capture(url)
		r.Time = anyTime(o.text("timestamp", "ts"))
	case p.request(o, &r): // access logs and sensors
	case strings.HasPrefix(string(o["url"]), `"`) && o.text("url") != "" && o.text("host") == "": // the canonicalizer decides
		if url = o.text("url"); isHost(url) {
			if p.opt.Scheme == "" {
				return errNoScheme
			}
			url = p.opt.Scheme + "://" + url
		}
		r = o.capture(url)
	default:
		return p.without(o, emit)
	}
	if r.Status != 0 {
		p.statuses = true
	} else if (p.statuses || p.opt.URLField != "") && r.Kind == Fetch && r.Redirect == "" && o.text("digest", "filename", "urlkey") == "" {
		r.Kind = Link
	}
	r.Fields = o.values(p.opt.Fields)
	emit(r)
	return nil
}

// containers are the fields whose objects are the entries of a document, or the entry itself: of HAR, ffuf, Elasticsearch and others.
var containers = []string{"log", "entries", "results", "result", "items", "urls", "data", "pages", "records", "hits", "_source", "properties", "urllist", "browserhistory"}

// without reads an object that has no URL itself: its entries, or a host.
func (p *jsonParser) without(o fields, emit func(Record)) error {
	switch {
	case o["pageTimings"] != nil:
		return other("a page of HAR, beside its requests")
	case strings.HasPrefix(o.text("format"), "json-pages"), len(o) == 1 && (o["index"] != nil || o["create"] != nil): // of Elasticsearch's bulk format
		return isHeader
	case p.depth == maxContainers:
		return errNoURL
	}
	p.depth++
	defer func() { p.depth-- }()
	all := slices.Clone(containers)
	for name := range o { // others, in which a document has its rows
		if raw := bytes.TrimSpace(o[name]); !slices.Contains(all, name) && name != "links" && (bytes.HasPrefix(raw, []byte(`[{`))) {
			all = append(all, name)
		}
	}
	slices.Sort(all[len(containers):])
	all = append(all, "response", "links")
	var empty error // of the first object that gave nothing
	for _, name := range all {
		raw := strings.TrimSpace(string(o[name]))
		switch {
		case strings.HasPrefix(raw, "{"):
			var inner fields
			if decode(raw, &inner) == nil {
				err := p.object(inner, emit)
				if err == nil {
					return nil
				}
				empty = cmp.Or(empty, err)
			}
		case strings.HasPrefix(raw, "["):
			var entries []json.RawMessage
			if err := decode(raw, &entries); err != nil {
				return err
			}
			if len(entries) == 0 {
				continue
			}
			if name == "links" && o.match(vocabulary[aStatus], coded.MatchString) != "" {
				emit = found(emit) // on the page that has the status
			}
			var failed error
			for _, entry := range entries {
				failed = cmp.Or(failed, p.value(string(entry), emit))
			}
			if failed != nil && !slices.Contains(containers, name) {
				empty = cmp.Or(empty, failed)
				continue
			}
			return failed
		}
	}
	if host := o.text("host", "hostname", "domain"); isHost(host) && len(o) < 12 && o["request"] == nil {
		if p.opt.Scheme == "" {
			return bad("got a host without a scheme; for https://, add --scheme https")
		}
		emit(Record{URL: p.opt.Scheme + "://" + host, Kind: Listed})
		return nil
	}
	if empty != nil {
		return empty
	}
	if field := o.whereURL(); field != "" {
		return bad("%w; name %s with --url-field", errNoURL, field)
	}
	return errNoURL
}

var errNoURL = errors.New("got an object without a URL")

// maxContainers bounds how deep entries are looked for: each level is decoded once more.
const maxContainers = 4

// whereURL names a field of a nested object that has a URL.
func (o fields) whereURL() (found string) {
	for outer, raw := range o {
		var nested fields
		if strings.HasPrefix(string(raw), "{") && !strings.HasSuffix(outer, ".") && json.Unmarshal(raw, &nested) == nil {
			for inner := range nested {
				if name := outer + "." + inner; isURLName(plainName(inner)) && isURL(nested.text(inner)) && (found == "" || name < found) {
					found = name
				}
			}
		}
	}
	return found
}

// frontierItem reads a URLItem of the URLFrontier protocol in its JSON form.
func frontierItem(o fields, info string, kind Kind) Record {
	var metadata map[string]struct {
		Values []string `json:"values"`
	}
	_ = json.Unmarshal(o.raw(info+".metadata"), &metadata) // without it, nothing is known
	value := func(name string) string {
		if v := metadata[name].Values; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	r := Record{URL: o.text(info + ".url"), Kind: kind, Redirect: value("_redirTo")}
	if code := value("fetch.statusCode"); code != "" {
		r.answered(code)
	} else if value("fetch.exception") != "" {
		r.Kind = Link
	}
	return r
}

func isPath(s string) bool { return strings.HasPrefix(s, "/") }

// request reads an entry of an access log (nginx, Apache, Caddy, Traefik, Fastly, Cloudflare, Istio) or of a sensor (Zeek, Suricata), whose
// request is a line of HTTP, or a path. It reports whether the object is one.
func (p *jsonParser) request(o fields, r *Record) bool {
	kind, target := Fetch, ""
	isLine := strings.HasPrefix(string(o.raw("request")), `"`) && !isPath(o.text("request"))
	if isLine {
		target, kind = requestURL("", o.text("request"))
	} else if target = o.match(vocabulary[aPath], isPath); target == "" {
		if target, kind = o.text("requestpath", "request.uri"), Other; target == "" { // of CONNECT and OPTIONS
			return false
		}
	}
	get := func(m meaning) string {
		switch {
		case m == aQuery && isLine:
			return "" // the line has it
		case m == aScheme && o.raw("request.tls") != nil:
			return "https"
		case m == aScheme:
			return o.match(vocabulary[m], isScheme)
		case m == aPort && (o.text(vocabulary[m]...) != "443" || o.match(vocabulary[aScheme], isScheme) != ""):
			return "" // the server listens there, perhaps behind a proxy
		}
		return o.text(vocabulary[m]...)
	}
	if isPath(target) {
		host := cmp.Or(o.match(vocabulary[aHost], isServer), given(o.text("request.host", "requestaddr", "requesthost")))
		target = compose(host, target, get, &p.opt)
	}
	*r = o.capture(target)
	if r.Kind = kind; r.Status == 0 && kind == Fetch {
		r.Kind = Link // a sensor leaves out what did not happen
	}
	r.Time, r.Length = anyTime(get(aTime)), number(cmp.Or(o.text("size"), o.text("DownstreamContentSize", "length")))
	return true
}

// isStormStatus reports whether s is a status of StormCrawler, not of HTTP.
func isStormStatus(s string) bool {
	return slices.Contains([]string{"DISCOVERED", "FETCHED", "FETCH_ERROR", "REDIRECTION", "ERROR"}, s)
}

// storm reads an entry of StormCrawler's status index, which escapes the dot in names. An error without a code is of a server that did not answer.
func storm(o fields, url string) Record {
	value := func(name string) string {
		var all fields
		_ = json.Unmarshal(o.raw("metadata"), &all) // without it, nothing is known
		var list []string
		if json.Unmarshal(all[name], &list) == nil && len(list) > 0 {
			return list[0]
		}
		return all.text(name)
	}
	r := Record{URL: url, Kind: Fetch, Digest: value("_digest"), Redirect: value("_redirTo")}
	status := o.text("status")
	if code := cmp.Or(value("fetch%2EstatusCode"), value("fetch.statusCode")); code != "" {
		r.answered(code)
	} else if status == "FETCH_ERROR" || status == "ERROR" {
		r.Kind = Link
	}
	if status == "DISCOVERED" {
		r.Kind = Link
	}
	return r
}

// response reads the lines inside a recorded answer. One that isn't of captures is a message, or a web page.
func (p *jsonParser) response(text string, emit func(Record)) error {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		sink := func(r Record) { found = true; emit(r) }
		if strings.HasPrefix(line, "{") {
			_ = p.line(line, sink)
		} else {
			_ = parseCDXJ(line, sink)
		}
	}
	if !found {
		return other("an answer without captures")
	}
	return nil
}

// row reads an answer in arrays, as the Wayback CDX server writes it with output=json, or a list of URLs.
func (p *jsonParser) row(text string, emit func(Record)) error {
	var raws []json.RawMessage
	if strings.HasPrefix(text, "[[") && strings.HasSuffix(text, "]]") {
		err := decode(text, &raws)
		for _, raw := range raws {
			if e := p.row(string(raw), emit); e != isHeader {
				err = cmp.Or(err, e)
			}
		}
		return err
	}
	one := strings.Replace(strings.Replace(text, "[[", "[", 1), "]]", "]", 1)
	if err := decode(one, &raws); err != nil {
		return err
	}
	var cells []string
	for _, raw := range raws {
		if raw[0] == '{' || raw[0] == '[' {
			return bad("got an array of objects in a line")
		}
		cells = append(cells, fields{"": raw}.text(""))
	}
	if p.columns == nil {
		if at := slices.IndexFunc(cells, isURL); at >= 0 {
			return p.unnamed(cells, at, emit)
		}
		p.columns = cells
		return isHeader
	}
	o := fields{}
	for i, name := range p.columns[:min(len(cells), len(p.columns))] {
		o[name], _ = json.Marshal(cells[i])
	}
	o.plain()
	r := o.capture(o.match(vocabulary[aURL], func(s string) bool { return s != "" }))
	if r.Time = digitTime(o.text("timestamp")); r.URL == "" {
		return bad("got a row without a URL")
	}
	r.Fields = o.values(p.opt.Fields)
	emit(r)
	return nil
}

// unnamed reads a row without names, whose first URL is at at. Once a row has a code, in its place is the status of every row.
func (p *jsonParser) unnamed(cells []string, at int, emit func(Record)) error {
	if p.status == 0 {
		p.status = 1 + slices.IndexFunc(cells, func(s string) bool { return slices.Contains(codes, s) })
	}
	if p.status == 0 {
		for _, cell := range cells {
			emit(Record{URL: cell, Kind: Listed})
		}
		return nil
	}
	if slices.ContainsFunc(cells[at+1:], isURL) {
		return bad("got two URLs and a status in a row; want one URL")
	}
	r := Record{URL: cells[at], Kind: Fetch}
	v, code := silent, ""
	if p.status <= len(cells) {
		v, code, _ = verdictOf(cells[p.status-1])
	}
	if v == answered {
		r.answered(code)
	} else if v != worked {
		r.Kind = Link // as what no server answered
	}
	emit(r)
	return nil
}

// maxEntry bounds an entry of a document in bytes. Those of HAR hold the content of the answer.
const maxEntry = 64 << 20

// document reads JSON of several lines: HAR, indented arrays and objects. Its entries are read one by one.
func (s *sink) document(f *File) error {
	in := &tokenReader{r: f.Reader(), left: maxEntry, most: maxEntry}
	if mark, _ := f.Reader().Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = f.Reader().Discard(len(byteOrderMark))
	}
	d := &document{s: s, in: in, dec: json.NewDecoder(bufio.NewReader(in)), p: &jsonParser{opt: s.opt}}
	for !s.stopped {
		err := d.value(0)
		if err == io.EOF {
			return nil
		}
		if err != nil && !s.stopped {
			return fmt.Errorf("cannot read %s beyond entry %d: %w", f.Name, s.number, err)
		}
	}
	return nil
}

type document struct {
	s   *sink
	in  *tokenReader
	dec *json.Decoder
	p   *jsonParser
}

// value reads a value: of an array each element, of an object the containers in it, and the rest as an entry.
func (d *document) value(depth int) error {
	t, err := d.dec.Token()
	if err != nil {
		return err
	}
	return d.begun(t, depth)
}

// begun reads a value whose first token was read.
func (d *document) begun(t json.Token, depth int) error {
	switch t {
	case json.Delim('['):
		for d.dec.More() && !d.s.stopped {
			if err := d.entry(); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		o, held, isPage := fields{}, false, false
		for d.dec.More() && !d.s.stopped {
			name, err := d.dec.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			isPage = isPage || plainName(key) == "url"
			// Capitals are read with the object: its URL may come behind its links. A browser's history is too long for that.
			streamed := slices.Contains(containers, key) || plainName(key) == "browserhistory"
			if d.in.left = maxEntry; streamed && !isPage && depth < 4 {
				t, err := d.dec.Token()
				if _, nested := t.(json.Delim); err == nil && nested {
					held = true
					err = d.begun(t, depth+1)
				} else if err == nil {
					o[key], err = json.Marshal(t)
				}
				if err != nil {
					return short(err)
				}
				continue
			}
			var raw json.RawMessage
			if err := d.dec.Decode(&raw); err != nil {
				return short(err)
			}
			o[key] = raw
		}
		if len(o) > 0 {
			var own []Record
			err := d.p.object(o, func(r Record) { own = append(own, r) })
			if held && (len(own) == 0 || own[0].Kind == Listed) { // it only has entries
				break
			}
			d.s.number++
			for _, r := range own {
				d.s.emit(r)
			}
			d.s.unit(err, "")
		}
	default:
		return nil
	}
	if d.s.stopped {
		return nil
	}
	_, err := d.dec.Token() // the closing bracket
	return short(err)
}

// entry reads an element of an array.
func (d *document) entry() error {
	d.in.left = maxEntry
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return short(err)
	}
	d.s.number++
	text := string(raw)
	d.s.unit(d.p.value(text, d.s.emit), text)
	return nil
}

// short turns an end inside a value into an error.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
