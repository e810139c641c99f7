package logs

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
)

// maxWAT is how many bytes of a record of a WAT file are read. The links of the largest pages of
// Common Crawl take a few MB.
const maxWAT = 16 << 20

// loose is a text that some write as a number.
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	*l = loose(fields{"": raw}.text(""))
	return nil
}

// watRecord has the fields of a record of a WAT file: the JSON that the Internet Archive's tools
// write about a record of a WARC file.
type watRecord struct {
	Envelope struct {
		Header struct {
			Type   string `json:"WARC-Type"`
			URI    string `json:"WARC-Target-URI"`
			Date   string `json:"WARC-Date"`
			Digest string `json:"WARC-Payload-Digest"`
			Length loose  `json:"Content-Length"`
		} `json:"WARC-Header-Metadata"`
		Payload struct {
			Response struct {
				Message struct{ Status loose } `json:"Response-Message"`
				Headers map[string]json.RawMessage
				HTML    struct {
					Head  struct{ Base string }
					Links []struct{ URL string }
				} `json:"HTML-Metadata"`
			} `json:"HTTP-Response-Metadata"`
		} `json:"Payload-Metadata"`
	}
}

// wat reads the metadata that a WAT file has of a record: a fetch or, with Links, the links
// of its page. The records of requests repeat the URL of their response.
func (w *warcReader) wat(block io.Reader) error {
	var o watRecord
	in := &io.LimitedReader{R: block, N: maxWAT}
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		var kind *json.UnmarshalTypeError
		switch {
		case in.N <= 0:
			err = bad("got more than %d bytes", maxWAT)
		case errors.As(err, &kind):
			err = bad("got %s for %s", kind.Value, kind.Field)
		}
		return bad("cannot read JSON of a WAT record: %w", err)
	}
	h, response := &o.Envelope.Header, &o.Envelope.Payload.Response
	r := Record{URL: h.URI, Time: layoutTime(time.RFC3339Nano, h.Date), Digest: bareDigest(h.Digest), Length: number(string(h.Length)),
		Redirect: headerOf(response.Headers, "Location")}
	r.MIME, _, _ = strings.Cut(headerOf(response.Headers, "Content-Type"), ";")
	switch h.Type {
	case "response", "resource":
		r.Kind = kindOf(r.URL, Fetch)
	case "revisit":
		r.Kind = kindOf(r.URL, Revisit)
	default:
		return other("the metadata of a record of kind " + h.Type[:min(len(h.Type), 20)])
	}
	if status := string(response.Message.Status); status != "" {
		r.answered(status)
	}
	if !w.links {
		w.emit(r)
		return nil
	}
	found := false
	base := watBase(r.URL, response.HTML.Head.Base)
	for _, link := range response.HTML.Links {
		if w.stopped {
			break
		}
		if to := resolve(base, link.URL); to != "" {
			found = true
			w.emit(Record{URL: to, Kind: Link, Time: r.Time, Via: r.URL})
		}
	}
	if !found {
		return other("a page without links")
	}
	return nil
}

// headerOf returns the first value of a header, whatever the case of its name.
func headerOf(headers map[string]json.RawMessage, name string) string {
	for key, value := range headers {
		if strings.EqualFold(key, name) {
			return first(value)
		}
	}
	return ""
}

// watBase returns what the links of a page are relative to, or nil if it is not known.
func watBase(page, base string) *canon.Base {
	b, err := canon.ParseBase(page)
	if err != nil {
		return nil
	}
	if inner, err := canon.ParseBase(b.Resolve(base)); err == nil && base != "" {
		return inner
	}
	return b
}

// resolve makes a link absolute. Fragments of the page itself, and schemes other than those of the web, are no links.
func resolve(base *canon.Base, link string) string {
	link = strings.TrimSpace(link)
	switch {
	case link == "" || link[0] == '#' || kindOf(link, Link) == Other:
		return ""
	case base != nil:
		return base.Resolve(link)
	case isURL(strings.ReplaceAll(link, " ", "+")):
		return link
	}
	return ""
}
