package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	statuses bool     // an object before, or of the first lines, has a status, so one without had no answer
	status   int      // of rows without names, 1 for the first cell; 0 while none had one
	depth    int      // of the containers around the object that is read
	// answer is the field with the status when its name is unknown: found, as in tables, by its values in the first objects.
	answer string
	cells  map[string][]string // nil when they are not asked for
	flags  map[string]flag     // by the names of fields
	done   map[string]bool     // states that had a word for success
}

func newJSONParser(opt Options) *jsonParser {
	return &jsonParser{opt: opt, flags: map[string]flag{}, done: map[string]bool{}}
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
		err := p.object(o, found(emit)) // the message may be about a failed or postponed fetch
		if errors.Is(err, errNoURL) {
			return other("a message without a URL")
		}
		return err
	}
	if !isURL(text) && !isHost(text) { // URLFrontier takes URLs between the objects
		return bad("got no JSON")
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
func (p *jsonParser) object(o fields, emit func(Record)) (err error) {
	o.plain()
	url := o.match(vocabulary[aURL], func(s string) bool { return isURL(strings.ReplaceAll(s, " ", "+")) })
	if url == "" {
		url = o.match(vocabulary[aURL], ofNoWeb.MatchString)
	}
	if field := p.opt.URLField; field != "" {
		if url = o.text(p.opt.urlFields()...); url == "" {
			return bad("got no text in field %s", field)
		}
		if url, err = withScheme(url, p.opt.Scheme); err != nil {
			return err
		}
	}
	var r Record
	switch {
	case o.text("response_text") != "":
		return p.response(o.text("response_text"), emit)
	case o["known"] != nil:
		r = storm(o.text("known.info.url"), "", o.raw("known.info.metadata"))
	case o["discovered"] != nil:
		r = storm(o.text("discovered.info.url"), "DISCOVERED", o.raw("discovered.info.metadata"))
	case url != "" && stormStatus.MatchString(o.text("status")):
		r = storm(url, o.text("status"), o.raw("metadata"))
	case url != "" && o["statusCode"] != nil && (o["fetchTime"] != nil || o["statusName"] != nil):
		r = nutchRecord(url, int(number(o.text("statusCode"))))
		r.Time, r.Digest = layoutTime(nutchTime, o.text("fetchTime")), given(o.text("signature"))
	case url != "":
		r = p.capture(o, url)
	case p.request(o, &r): // access logs and sensors
	case strings.HasPrefix(string(o["url"]), `"`) && o.text("url") != "" && o.text("host") == "": // the canonicalizer decides
		if url, err = withScheme(o.text("url"), p.opt.Scheme); err != nil {
			return err
		}
		r = p.capture(o, url)
	default:
		return p.without(o, emit)
	}
	if r.Time.IsZero() {
		r.Time = o.time()
	}
	if r.Kind == Fetch && r.Unsaid() {
		p.unnamedStatus(o, &r)
	}
	if r.Status != 0 {
		p.statuses = true
	} else if (p.statuses || p.opt.URLField != "") && r.Kind == Fetch && r.Unsaid() && o.text("filename", "urlkey") == "" {
		r.Kind = Link
	}
	r.Fields = o.values(p.opt.Fields)
	emit(r)
	return nil
}

// maxFlags limits the names of fields that are kept: those of objects with ids for names differ.
const maxFlags = 1 << 10

// A flag is how the fields of a name are judged: by says, or as the state that it names.
type flag struct {
	says  func(cell string) (verdict, string, bool)
	state string
}

// capture makes the record of an object. Without a status, a field may say that there was no answer, or not yet.
func (p *jsonParser) capture(o fields, url string) Record {
	r := o.capture(url)
	if r.Kind != Fetch || r.Status != 0 || p.opt.OnlyURLs {
		return r
	}
	for name, raw := range o {
		f, known := p.flags[name]
		if !known {
			name = strings.Clone(name) // of a part of the line, which it would keep
			plain := squeezed(name)
			if f.says = flagOf(plain); ofState.MatchString(plain) {
				f.state = plain
			}
			if len(p.flags) < maxFlags {
				p.flags[name] = f
			}
		}
		v := silent
		switch {
		case f.says != nil:
			v, _, _ = f.says(strings.Trim(string(bare(raw)), `"`))
		case f.state != "" && len(raw) > 0 && raw[0] == '"':
			v = stateOf(f.state, strings.Trim(string(raw), `" `))
			p.done[f.state] = p.done[f.state] || v == worked
		}
		if v == failed || v == aWord && p.done[f.state] {
			r.Kind = Link
		}
	}
	return r
}

// unnamedStatus takes the status from the field that findAnswer chose, or collects the fields of the first objects for it.
func (p *jsonParser) unnamedStatus(o fields, r *Record) {
	if p.answer != "" {
		switch v, code, _ := verdictOf(o.text(p.answer)); v {
		case answered:
			r.answered(code)
		case silent, failed, aNumber:
			r.Kind = Link
		}
	}
	if p.cells == nil {
		return
	}
	for name := range o {
		if text := o.text(name); text != "" && plainName(name) == name {
			p.cells[name] = append(p.cells[name], text)
		}
	}
}

// findAnswer looks for the field of the status in what the first objects have.
func (p *jsonParser) findAnswer() string {
	for _, name := range slices.Sorted(maps.Keys(p.cells)) {
		if is, _ := judge(name, p.cells[name]); is == answered {
			return name
		}
	}
	return ""
}

// containers are the fields whose objects are the entries of a document, or the entry itself: of HAR, ffuf, Elasticsearch and others.
var containers = []string{"log", "entries", "results", "result", "items", "urls", "data", "pages", "records", "hits", "_source", "properties", "urllist", "browserhistory", "successmap", "errormap", "failmap"}

// without reads an object that has no URL itself: its entries, or a host. A document can have several lists of them, such as the good and the bad.
func (p *jsonParser) without(o fields, emit func(Record)) error {
	switch {
	case strings.HasPrefix(o.text("format"), "json-pages"), len(o) == 1 && (o["index"] != nil || o["create"] != nil): // of Elasticsearch's bulk format
		return isHeader
	case o["openapi"] != nil, o["swagger"] != nil, o["asyncapi"] != nil, o["info"] != nil && o["item"] != nil, o.text("_type") == "export":
		return bad("got a description of an API (OpenAPI, Postman or the like), which names no page that was fetched")
	case p.depth == maxContainers:
		return errNoURL
	}
	if urls := slices.DeleteFunc(texts(o["keys"]), func(s string) bool { return !isURL(s) }); len(urls) == 1 { // dimensions of Search Console's API
		emit(Record{URL: urls[0], Kind: Listed, Fields: o.values(p.opt.Fields)})
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	var others []string // in which a document has its rows
	for name := range o {
		plain := plainName(name)
		isOwn := plain == name || plain == anyTime || plain == anyStatus // a list named crawled is no time
		if isOwn && !slices.Contains(containers, name) && name != "links" && objectsInside.Match(o[name]) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	gave := false
	var empty, refused error // of the first list or object that gave nothing, and of the first bad entry of a container
	for _, names := range [][]string{containers, others, {"response"}, {"links"}} {
		read := false
		for _, name := range names {
			if o[name] == nil {
				continue
			}
			to, unread := emit, isOfUnread(name)
			if unread || name == "links" && o.match(vocabulary[aStatus], coded.MatchString) != "" { // on the page that has the status
				to = found(emit)
			}
			ok, err := p.contained(o[name], to)
			if name == "pages" && o["entries"] != nil && errors.Is(err, errNoURL) { // of HAR
				ok, err = true, nil
			}
			isContainer := slices.Contains(containers, name)
			if err != nil && ok && isContainer {
				refused = cmp.Or(refused, err)
			}
			gave, empty = gave || ok && err == nil, cmp.Or(empty, err)
			read = read || ok && err == nil && !(unread && isContainer) // the fetched ones can be in another list
		}
		if read || refused != nil {
			return refused
		}
	}
	if gave {
		return nil
	}
	if host := o.text("host", "hostname", "domain"); isHost(host) && len(o) < 12 && o["request"] == nil {
		url, err := withScheme(host, p.opt.Scheme)
		if host, alone := bracket(host); alone && err == nil && o.text("port") != "" {
			url = site(p.opt.Scheme, host, o.text("port"))
		}
		if err == nil {
			emit(Record{URL: url, Kind: Listed})
		}
		return err
	}
	if empty != nil {
		return empty
	}
	if field := o.whereURL(); field != "" {
		return bad("%w; name %s with --url-field", errNoURL, field)
	}
	return errNoURL
}

// isOfUnread reports whether the name of a list says that its URLs failed or were not fetched yet.
func isOfUnread(name string) bool {
	name = squeezed(name)
	return failures.MatchString(name) || slices.Contains(vocabulary[anError], name) || unread.MatchString(name)
}

// unread matches the names of such lists that do not mean a failure.
var unread = regexp.MustCompile(`^(?:bad|missing|todo|queue|frontier|remaining|discovered|excluded|ignored|rejected|in(?:valid|accessible)|un(?:checked|crawled|processed|visited))(?:urls|links|pages|requests)?$`)

// objectsInside matches a list of objects.
var objectsInside = regexp.MustCompile(`^\s*\[\s*\{`)

// contained reads a list of entries, or the object around one. It reports whether there is something to read.
func (p *jsonParser) contained(raw json.RawMessage, emit func(Record)) (bool, error) {
	switch raw = bytes.TrimSpace(raw); {
	case bytes.HasPrefix(raw, []byte("{")):
		var inner fields
		if decode(string(raw), &inner) != nil {
			return false, nil
		}
		err := p.object(inner, emit)
		return err == nil, err
	case bytes.HasPrefix(raw, []byte("[")):
		var entries []json.RawMessage
		if err := decode(string(raw), &entries); err != nil {
			return true, err
		}
		var failed error
		for _, entry := range entries {
			failed = cmp.Or(failed, p.value(string(entry), emit))
		}
		return len(entries) > 0, failed
	}
	return false, nil
}

var errNoURL = errors.New("got an object without a URL")

// maxContainers limits the depth of the search for entries: each level is decoded again.
const maxContainers = 4

// whereURL returns the path of a URL in a nested object, for messages.
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

func isPath(s string) bool { return strings.HasPrefix(s, "/") }

// request reads an entry of an access log (nginx, Apache, Caddy, Traefik, Fastly, Cloudflare, Istio) or of a sensor (Zeek, Suricata), whose
// request is a line of HTTP, or a path. It reports whether the object is one.
func (p *jsonParser) request(o fields, r *Record) bool {
	kind, target := Fetch, ""
	line := o.text("request")
	isLine := strings.HasPrefix(string(o.raw("request")), `"`) && !isPath(line) &&
		(strings.Contains(line, " ") || o.match(vocabulary[aPath], isPath) == "") // or it is the method alone
	if isLine {
		target, kind = requestURL("", line)
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
	assumed := false
	if isPath(target) {
		host := cmp.Or(o.match(vocabulary[aHost], isServer), given(o.text("request.host", "requestaddr", "requesthost")))
		target, assumed = compose(host, target, get, &p.opt)
	}
	*r = o.capture(target)
	r.assumed = assumed
	if r.Kind = kind; r.Status == 0 && kind == Fetch {
		r.Kind = Link // a sensor leaves out what did not happen
	}
	r.Length = number(cmp.Or(o.text("size"), o.text("DownstreamContentSize", "length")))
	return true
}

// stormStatus matches the statuses of StormCrawler, which are not of HTTP.
var stormStatus = regexp.MustCompile(`^(?:DISCOVERED|FETCHED|FETCH_ERROR|REDIRECTION|ERROR)$`)

// storm reads an entry of StormCrawler's status index, which escapes the dot in names, or a URLItem of URLFrontier, as StormCrawler fills it: what
// is known is in the metadata. An error without a code is of a server that did not answer.
func storm(url, status string, metadata json.RawMessage) Record {
	var all fields
	_ = json.Unmarshal(metadata, &all) // without it, nothing is known
	value := func(name string) string {
		var item struct {
			Values json.RawMessage `json:"values"` // of URLFrontier
		}
		if json.Unmarshal(all[name], &item) == nil && item.Values != nil {
			return first(item.Values)
		}
		return first(all[name])
	}
	r := Record{URL: url, Kind: Fetch, Digest: value("_digest"), Redirect: value("_redirTo")}
	if code := cmp.Or(value("fetch%2EstatusCode"), value("fetch.statusCode")); code != "" {
		r.answered(code)
	} else if strings.HasSuffix(status, "ERROR") || value("fetch.exception") != "" {
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
	for i, name := range p.columns[:min(len(raws), len(p.columns))] {
		o[name] = raws[i]
	}
	return p.object(o, emit)
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
	if v, code, _ := verdictOf(append(cells, "")[min(p.status-1, len(cells))]); v != worked {
		r.answered(code) // or not: without a code no server did
	}
	emit(r)
	return nil
}

// maxEntry bounds an entry of a document in bytes. Those of HAR hold the content of the answer.
const maxEntry = 64 << 20

// document reads JSON of several lines: HAR, indented arrays and objects. Its entries are read one by one.
func (s *sink) document(f *File) error {
	s.units = "entry"
	in := &tokenReader{r: f.Reader(), left: maxEntry, most: maxEntry}
	if mark, _ := f.Reader().Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = f.Reader().Discard(len(byteOrderMark))
	}
	d := &document{s: s, in: in, dec: json.NewDecoder(bufio.NewReader(in)), p: newJSONParser(s.opt)}
	for !s.stopped {
		err := d.value(0)
		if err == io.EOF {
			return nil
		}
		if err != nil && !s.stopped {
			err = fmt.Errorf("cannot read %s beyond entry %d: %w", f.Name, s.number, err)
			s.number++
			s.unit(bad("got an entry without its end, or no JSON"), "")
			return err
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
	return d.begun(t, "", depth)
}

// begun reads a value whose first token was read, of the field with a name.
func (d *document) begun(t json.Token, name string, depth int) error {
	switch t {
	case json.Delim('['):
		for d.dec.More() && !d.s.stopped {
			if err := d.entry(name); err != nil {
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
			streamed = streamed && !isOfUnread(key)
			if d.in.left = maxEntry; streamed && !isPage && depth < 4 {
				t, err := d.dec.Token()
				if _, nested := t.(json.Delim); err == nil && nested {
					held = true
					err = d.begun(t, key, depth+1)
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

// entry reads an element of the array with a name.
func (d *document) entry(of string) error {
	d.in.left = maxEntry
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return short(err)
	}
	d.s.number++
	text := string(raw)
	err := d.p.value(text, d.s.emit)
	if of == "pages" && strings.Contains(text, `"id"`) && strings.Contains(text, `"title"`) && errors.Is(err, errNoURL) {
		err = other("a page of HAR, beside its requests")
	}
	d.s.unit(err, text)
	return nil
}

// short turns an end inside a value into an error.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
