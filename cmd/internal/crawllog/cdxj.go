package crawllog

import (
	"encoding/json"
	"net/url"
	"strings"
)

// parseCDXJ reads a line "key time {json}": CDXJ of pywb, cdxj-indexer and ipwb, and
// the index files of Common Crawl. The line is split at the first brace, since some
// keys hold blanks. Lines that begin with "!" or "@" are headers.
func parseCDXJ(text string, emit func(Record)) error {
	if text == "" || text[0] == '!' || text[0] == '@' {
		return errSkip
	}
	head, object, ok := strings.Cut(text, " {")
	if !ok {
		return bad("got no JSON; want key, time and an object")
	}
	i := strings.LastIndexByte(head, ' ')
	if i <= 0 || digitTime(head[i+1:]).IsZero() {
		return bad("got %q before the JSON; want a key and a time", head)
	}
	var o indexObject
	if err := decode("{"+object, &o); err != nil {
		return err
	}
	r := o.capture()
	r.Time = digitTime(head[i+1:])
	if r.URL == "" {
		r.URL = urlOfKey(head[:i])
	}
	emit(r)
	return nil
}

// indexObject is the union of what CDXJ writers and index servers call their fields.
type indexObject struct {
	URL, Redirect, Via           string
	Canonical, NoVary, Clean     string
	MIME, Status, Digest, Length loose
}

// loose is a text that some write as a number.
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		*l = loose(s)
		return err
	}
	*l = loose(raw)
	return nil
}

// UnmarshalJSON takes each field by the first of its names that is there.
func (o *indexObject) UnmarshalJSON(raw []byte) error {
	var f struct {
		URL            string `json:"url"`
		OriginalURI    string `json:"original_uri"`
		MIME           loose  `json:"mime"`
		MIMEType       loose  `json:"mime_type"`
		MIMEType2      loose  `json:"mimetype"`
		Status         loose  `json:"status"`
		StatusCode     loose  `json:"status_code"`
		StatusCode2    loose  `json:"statuscode"`
		Digest         loose  `json:"digest"`
		PayloadDigest  loose  `json:"payload_digest"`
		SHA1           loose  `json:"sha1"`
		Referer        string `json:"referer"`
		Length         loose  `json:"length"`
		Redirect       string `json:"redirect"`
		RedirectTarget string `json:"redirect_url"`
		Canonical      string `json:"canonical"`
		NoVarySearch   string `json:"no_vary_search"`
		CleanParam     string `json:"clean_param"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	*o = indexObject{
		URL: first(f.URL, f.OriginalURI), MIME: first(f.MIME, f.MIMEType, f.MIMEType2), Status: first(f.Status, f.StatusCode, f.StatusCode2),
		Digest: first(f.Digest, f.PayloadDigest, f.SHA1), Via: f.Referer, Length: f.Length, Redirect: first(f.Redirect, f.RedirectTarget),
		Canonical: f.Canonical, NoVary: f.NoVarySearch, Clean: f.CleanParam,
	}
	return nil
}

func first[T ~string](values ...T) T {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func (o indexObject) capture() Record {
	r := Record{URL: o.URL, MIME: given(string(o.MIME)), Status: int(number(string(o.Status))),
		Digest: bareDigest(string(o.Digest)), Length: number(string(o.Length)), Redirect: given(o.Redirect), Via: o.Via,
		Canonical: o.Canonical, NoVarySearch: o.NoVary, CleanParam: o.Clean}
	r.Kind = kindOf(r.URL, Fetch)
	if r.MIME == "warc/revisit" {
		r.Kind = kindOf(r.URL, Revisit)
	}
	return r
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
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	u := url.URL{Scheme: "http", Host: strings.Join(labels, ".")}
	if port != "" {
		u.Host += ":" + port
	}
	return u.String() + path
}
