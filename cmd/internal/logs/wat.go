package logs

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
)

// maxWAT is how many bytes of a record of a WAT file are read. The links of the largest pages of
// Common Crawl take a few MB.
const maxWAT = 16 << 20

// The Internet Archive's tools write what they found of a WARC record as nested JSON; plain names of its parts.
const (
	watHeader   = "envelope.warcheadermetadata."
	watResponse = "envelope.payloadmetadata.httpresponsemetadata."
)

// wat reads the metadata that a WAT file has of a record: a fetch or, with Links, the links
// of its page. The records of requests repeat the URL of their response.
func (w *warcReader) wat(block io.Reader) error {
	var o fields
	in := &io.LimitedReader{R: block, N: maxWAT}
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		if in.N <= 0 {
			err = bad("got more than %d bytes", maxWAT)
		}
		return bad("cannot read JSON of a WAT record: %w", err)
	}
	o.plain()
	header := func(name string) string { return o.text(watHeader + name) }
	r := Record{URL: header("warctargeturi"), Time: layoutTime(time.RFC3339Nano, header("warcdate")), Digest: bareDigest(header("warcpayloaddigest")),
		Length: number(header("contentlength")), Redirect: first(o.raw(watResponse + "headers.location"))}
	r.MIME, _, _ = strings.Cut(first(o.raw(watResponse+"headers.contenttype")), ";")
	kind := header("warctype")
	switch kind {
	case "response", "resource":
		r.Kind = kindOf(r.URL, Fetch)
	case "revisit":
		r.Kind = kindOf(r.URL, Revisit)
	case "":
		return bad("got JSON without the header of a WARC record")
	default:
		return other("the metadata of a record of kind " + kind[:min(len(kind), 20)])
	}
	if status := o.text(watResponse + "responsemessage.status"); status != "" {
		r.answered(status)
	}
	if !w.links {
		w.emit(r)
		return nil
	}
	found := false
	base := watBase(r.URL, o.text(watResponse+"htmlmetadata.head.base"))
	var links []struct{ URL string }
	if raw := o.raw(watResponse + "htmlmetadata.links"); raw != nil {
		if err := json.Unmarshal(raw, &links); err != nil {
			return bad("cannot read the links of a WAT record: %w", err)
		}
	}
	for _, link := range links {
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
