package synth

import (
	"encoding/base32"
	"encoding/binary"
	"time"
)

// Capture is one fetch of a URL.
type Capture struct {
	Spelling
	Time     time.Time
	Status   int
	Digest   [32]byte // SHA-1 in base32
	Redirect []byte   // target, where Status is 301
}

// start is when the crawl of every web begins.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// lag is how many pages after its first capture a URL is captured again, so
// that the log is in order of time and yet made without memory.
const lag = 500

// captures calls yield with the fetches in the turn of the k-th page p: the page, perhaps a
// variant of it, and, as a repeat, the page that was fetched lag pages ago.
func (w *Web) captures(k int64, p page, before *page, c *Capture, yield func(*Capture)) {
	w.fetch(k, p, 0, 0, c, yield)
	if before == nil {
		return
	}
	for slot := range uint64(3) {
		if unit(w.hash(tagCapture, before.id(), 8+slot)) < recapture {
			w.fetch(k, *before, slot, 1, c, yield)
		}
	}
	for slot := uint64(1); slot < 3; slot++ { // variants are found later, on other pages
		w.fetch(k, *before, slot, 0, c, yield)
	}
	for slot := range uint64(2 * numParams) {
		w.fetchParam(k, *before, slot, c, yield)
	}
}

// fetch captures the page's own spelling (slot 0) or one of its variants, if
// it has that many.
func (w *Web) fetch(k int64, p page, slot, times uint64, c *Capture, yield func(*Capture)) {
	rule := Own
	if slot > 0 {
		h := w.hash(tagCapture, p.id(), slot)
		if unit(h) >= 2*w.opt.Variant {
			return
		}
		rule = pickRule(again(h) >> 8)
	}
	w.spell(&c.Spelling, p, rule, w.hash(tagCapture, p.id(), 16+slot))
	if slot > 0 && c.Rule == Own {
		return // the page has no such variant
	}
	w.complete(k, p, slot<<1|times, c)
	if slot > 0 && w.redirects(p, c.Rule) {
		w.redirect(p, c)
	}
	yield(c)
}

// redirect makes a capture one of a redirect to the page's own spelling.
func (w *Web) redirect(p page, c *Capture) {
	c.Status = 301
	copy(c.Digest[:], emptyDigest)
	c.Redirect = w.text(p).append(c.Redirect, Own, 0)
}

// fetchParam captures a page with one more parameter.
func (w *Web) fetchParam(k int64, p page, slot uint64, c *Capture, yield func(*Capture)) {
	h := w.hash(tagParam, p.id(), slot)
	if unit(h) >= w.opt.Params/2 || !w.text(p).can(EmptyParam) {
		return
	}
	w.spellParam(&c.Spelling, p, int(slot%numParams), again(h))
	w.complete(k, p, 32+slot, c)
	yield(c)
}

// complete sets the result of a fetch; fetch numbers the fetches of a page.
func (w *Web) complete(k int64, p page, fetch uint64, c *Capture) {
	c.Redirect = c.Redirect[:0]
	c.Time = start.Add(time.Duration(k)*200*time.Millisecond + time.Duration(fetch)*time.Millisecond)
	c.Status = 200
	w.digest(p, c, fetch)
}

// digest sets the digest of a capture by what the page is: changing with
// every fetch, empty, the same as on other hosts, or its own.
func (w *Web) digest(p page, c *Capture, fetch uint64) {
	content := w.hash(tagDigest, c.Identity, 0)
	kind := unit(w.hash(tagMirror, c.Identity, 0))
	switch {
	case kind < 0.005:
		copy(c.Digest[:], emptyDigest)
		return
	case kind < 0.025: // a soft 404: the host's own excuse
		content = w.hash(tagMirror, uint64(p.host), 1)
	case kind < 0.125: // mirrored from a pool of pages
		content = w.hash(tagMirror, c.Identity%uint64(1+w.Pages()/20), 2)
	case w.volatile(p.host) || unit(w.hash(tagVolatile, c.Identity, fetch)) < 0.02:
		content = again(content ^ mix(fetch+1))
	}
	encode(&c.Digest, content)
}

// emptyDigest is that of no bytes at all.
const emptyDigest = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

func (w *Web) volatile(host int32) bool {
	return unit(w.hash(tagVolatile, uint64(host), 1<<63)) < w.opt.Volatile
}

func encode(dst *[32]byte, content uint64) {
	var raw [20]byte
	binary.BigEndian.PutUint64(raw[:], content)
	binary.BigEndian.PutUint64(raw[8:], again(content))
	binary.BigEndian.PutUint32(raw[16:], uint32(again(content+1)))
	base32.StdEncoding.Encode(dst[:], raw[:])
}

// Captures calls yield with every capture in order of time, until it returns
// false. The capture is valid until yield returns.
func (w *Web) Captures(yield func(*Capture) bool) {
	var c Capture
	cur, behind := &cursor{w: w}, &cursor{w: w}
	more := true
	for k := int64(0); more && k < w.Pages(); k++ {
		p, _ := cur.next()
		var before *page
		if k >= lag {
			b, _ := behind.next()
			before = &b
		}
		w.captures(k, p, before, &c, func(c *Capture) { more = more && yield(c) })
	}
}
