package logs

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firstseen/firstseen/internal/zerocopy"
)

// parseCDXJ reads a line "key time {json}": CDXJ of pywb, cdxj-indexer and ipwb, and
// the index files of Common Crawl. The line is split at the first brace, since some
// keys hold blanks. Lines that begin with "!" or "@" are headers.
func parseCDXJ(text string, emit func(Record)) error {
	switch {
	case strings.TrimSpace(text) == "":
		return isBlankLine
	case (text[0] == '!' || text[0] == '@') && strings.ContainsAny(text, "[{"):
		return isHeader
	}
	head, object, ok := strings.Cut(text, " {")
	if !ok {
		return bad("got no JSON; want key, time and an object")
	}
	i := strings.LastIndexByte(head, ' ')
	if i <= 0 || digitTime(head[i+1:]).IsZero() {
		return bad("got %q before the JSON; want a key and a time", head)
	}
	o := fields{}
	if err := decode("{"+object, &o); err != nil {
		return err
	}
	o.plain()
	r := o.capture(o.text("url", "originaluri"))
	r.Time = digitTime(head[i+1:])
	if r.URL == "" {
		r.URL, r.assumed = urlOfKey(head[:i]), true
	}
	emit(r)
	return nil
}

// fields is a JSON object whose fields are read when they are asked for: what else a log has in it, of whatever type, does
// no harm. Names match exactly.
type fields map[string]json.RawMessage

// UnmarshalJSON cuts an object into its fields, which stay parts of the text. The map that encoding/json makes of one took more than half of
// the time in which a line of CDXJ is read.
func (o *fields) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return bad("got %.20s; want an object", text)
	}
	*o = fields{}
	key, value, depth := "", 0, 0 // where the value begins; 0 before it does
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			begin := i
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth > 1 || value > 0 {
				continue
			}
			if key = zerocopy.String(text[begin+1 : i]); strings.IndexByte(key, '\\') >= 0 {
				if err := json.Unmarshal(text[begin:i+1], &key); err != nil {
					return err
				}
			}
		case ':':
			if depth == 1 && value == 0 {
				value = i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if value > 0 && (depth == 0 || depth == 1 && text[i] == ',') {
			(*o)[key], value = bytes.TrimSpace(text[value:i]), 0
		}
	}
	return nil
}

// raw returns a field, or with dots in the name one of a nested object, whose fields become ones of o: "request.url", and
// "request." once they are there.
func (o fields) raw(name string) json.RawMessage {
	raw, ok := o[name]
	dot := strings.LastIndexByte(name, '.')
	if ok || dot < 0 {
		return raw
	}
	object := o.raw(name[:dot])
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	if _, done := o[name[:dot+1]]; !done {
		o[name[:dot+1]] = nil
		var nested fields
		_ = json.Unmarshal(object, &nested) // of a valid text
		nested.plain()
		for inner, raw := range nested {
			o[name[:dot+1]+inner] = raw
		}
	}
	return o[name]
}

// plain adds each field under its normalized name.
func (o fields) plain() {
	var others []string
	for name := range o {
		if plainName(name) != name {
			others = append(others, name)
		}
	}
	slices.Sort(others) // two can be one
	for _, name := range others {
		if plain := plainName(name); o[plain] == nil {
			o[plain] = o[name]
		}
	}
}

// typed matches what MongoDB writes for a number or a time.
var typed = regexp.MustCompile(`^\{\s*"\$(?:date|number\w+)"\s*:\s*(?:\{\s*"\$numberLong"\s*:\s*)?("[^"\\]*"|[\w.+-]+)[\s}]*$`)

// bare takes a number or a time out of the object that MongoDB writes for it: {"$numberInt":"404"}, {"$date":{"$numberLong":"…"}}.
func bare(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && raw[0] == '{' {
		if m := typed.FindSubmatch(raw); m != nil {
			return m[1]
		}
	}
	return raw
}

// first returns a text, or the first of a list of texts.
func first(raw json.RawMessage) string {
	if list := texts(raw); len(list) > 0 {
		return strings.TrimSpace(list[0])
	}
	return fields{"": raw}.text("")
}

// texts returns a list of texts; nil for anything else.
func texts(raw json.RawMessage) (list []string) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// match returns the first text of some fields that a test takes.
func (o fields) match(names []string, takes func(string) bool) string {
	for _, name := range names {
		if s := o.text(name); takes(s) {
			return s
		}
	}
	return ""
}

// text returns the first of some fields that is a text or a number, or a list of one text.
func (o fields) text(names ...string) string {
	for _, name := range names {
		switch raw := bare(o.raw(name)); {
		case len(raw) == 0 || raw[0] == '{' || string(raw) == "null":
		case raw[0] == '[':
			if list := texts(raw); len(list) == 1 && list[0] != "" {
				return strings.TrimSpace(list[0])
			}
		case raw[0] == '"':
			s := string(raw[1 : len(raw)-1])
			if strings.IndexByte(s, '\\') >= 0 && json.Unmarshal(raw, &s) != nil {
				continue
			}
			if s = strings.TrimSpace(s); s != "" {
				return s
			}
		default:
			return string(raw)
		}
	}
	return ""
}

// values returns the values of fields: texts and numbers as they are, others as JSON.
func (o fields) values(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	all := make([]string, len(names))
	for i, name := range names {
		if raw := string(o.raw(name)); strings.HasPrefix(raw, "[") || strings.HasPrefix(raw, "{") {
			all[i] = raw
		} else {
			all[i] = o.text(name)
		}
	}
	return all
}

// time returns the time of the fetch.
func (o fields) time() (t time.Time) {
	for _, name := range vocabulary[aTime] {
		if o[name] != nil && t.IsZero() {
			t = ParseTime(o.text(name))
		}
	}
	return t
}

// capture makes the record of an object as index servers, feeds and tools write it.
func (o fields) capture(url string) Record {
	r := Record{URL: url, MIME: given(o.text(vocabulary[aType]...)), Digest: bareDigest(o.text(vocabulary[aDigest]...)),
		Length: number(o.text("length")), Redirect: given(o.text(vocabulary[aRedirect]...)), Via: o.text(vocabulary[aReferrer]...),
		Canonical: o.text("canonical"), NoVarySearch: o.text("no_vary_search"), CleanParam: o.text("clean_param")}
	r.Kind = kindOf(r.URL, Fetch)
	o.status(&r)
	if r.MIME == "warc/revisit" {
		r.Kind = kindOf(r.URL, Revisit)
	}
	return r
}

// status sets what an object says about the answer. A word in a status field means something else, unless it names a failure.
func (o fields) status(r *Record) {
	for _, name := range vocabulary[aStatus] {
		raw := o.raw(name)
		if raw == nil {
			continue
		}
		status := strings.TrimSpace(strings.Trim(string(bare(raw)), `"`))
		if status == "-" && o.text("digest", "filename", "urlkey") != "" {
			continue // indexes write this for records without a status
		}
		switch v, code, _ := verdictOf(status); {
		case v == answered:
			r.answered(code)
			return
		case v == silent, v == aNumber, v == failed && strings.Trim(status, "0123456789-x") == "", v == failed && (strings.Contains(name, "code") || name == anyStatus):
			r.answered("")
			r.silent = v == silent
			return
		}
	}
	if code := o.nestedStatus(r.URL, 3); code != "" {
		r.answered(code)
	}
}

// nestedStatus returns the status that an object beside the URL has, however deep. One with another URL has the status of that.
func (o fields) nestedStatus(url string, depth int) (code string) {
	for name, raw := range o {
		if depth == 0 || len(raw) == 0 || raw[0] != '{' || ofOthers.MatchString(name) || !bytes.Contains(raw, []byte("tatus")) && !bytes.Contains(raw, []byte("ode\"")) {
			continue
		}
		var inner fields
		if json.Unmarshal(raw, &inner) != nil {
			continue
		}
		inner.plain()
		if own := inner.match(vocabulary[aURL], isURL); own != "" && own != url {
			continue
		}
		for _, name := range slices.Concat(vocabulary[aStatus], []string{":status"}) {
			if v, c, _ := verdictOf(inner.text(name)); v == answered {
				code = max(code, c)
				break
			}
		}
		code = max(code, inner.nestedStatus(url, depth-1))
	}
	return code
}

// urlOfKey makes a URL of a sort key "com,example,www:8080)/path?query", for indexes
// that hold no URL. Which scheme it was, and the case of letters, is lost.
func urlOfKey(key string) string {
	host, path, ok := strings.Cut(key, ")")
	if !ok {
		return ""
	}
	host, port, _ := strings.Cut(host, ":")
	labels := strings.Split(strings.TrimSuffix(host, ","), ",")
	slices.Reverse(labels)
	return site("http", strings.Join(labels, "."), port) + path
}
