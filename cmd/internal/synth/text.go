package synth

import (
	"bytes"
	"strconv"
)

// text is the parts of a page's own URL.
type text struct {
	w     *Web
	p     page
	h     uint64
	style uint8 // 0 slug, 1 query, dated, 3 directory
	https bool
	www   bool
}

const dated = 2 // the style of "/2013/…"

var words = [...]string{"archive", "about", "news", "guide", "review", "summer", "index", "report", "market", "garden", "kernel",
	"letter", "museum", "river", "school", "travel", "winter", "output", "story", "manual", "photo", "recipe"}

var tlds = [...]string{".com", ".org", ".net", ".de", ".co.uk", ".fr", ".jp", ".info"}

func (w *Web) text(p page) text {
	host := w.hash(tagName, uint64(p.host), 0)
	t := text{w: w, p: p, h: w.hash(tagPage, p.id(), 0), https: host%10 < 7, www: host>>8%100 < 35}
	switch n := t.h % 16; {
	case p.num == 0 || n == 15:
		t.style = 3
	case n < 8:
		t.style = 0
	case n < 12:
		t.style = 1
	default:
		t.style = 2
	}
	return t
}

// can reports whether the rule has a variant of this page.
func (t text) can(r Rule) bool {
	switch r {
	case TrailingSlash:
		return t.style == 0 || t.style == 2
	case ParamOrder, EmptyParam:
		return t.style == 1
	case Index:
		return t.style == 3
	case EmptyQuery:
		return t.style != 1
	case Unreserved, DupSlashes, DotSegments, EscapeCase:
		return t.style != 3
	}
	return true
}

// append appends the URL spelled by the rule.
func (t text) append(dst []byte, r Rule, salt uint64) []byte {
	dst = t.appendAuthority(dst, r)
	switch t.style {
	case 0:
		dst = t.appendSlug(append(dst, '/'), r)
	case 1:
		return t.appendQuery(append(dst, '/'), r, salt)
	case 2:
		dst = append(dst, "/20"...)
		dst = strconv.AppendUint(dst, 10+t.h>>20%15, 10)
		dst = t.appendSlug(append(dst, '/'), r)
	case 3:
		dst = t.appendDirectory(append(dst, '/'), r)
	}
	return appendExtra(dst, '?', r, salt)
}

func (t text) appendAuthority(dst []byte, r Rule) []byte {
	scheme, port := "http", ":80"
	if t.https != (r == Scheme) {
		scheme, port = "https", ":443"
	}
	if r == HostCase {
		scheme = string(bytes.ToUpper([]byte(scheme)))
	}
	dst = append(append(dst, scheme...), "://"...)
	from := len(dst)
	if t.www != (r == WWW) {
		dst = append(dst, "www."...)
	}
	dst = append(dst, words[t.w.hash(tagName, uint64(t.p.host), 1)%uint64(len(words))]...)
	dst = strconv.AppendInt(dst, int64(t.p.host), 36)
	dst = append(dst, tlds[t.w.hash(tagName, uint64(t.p.host), 2)%uint64(len(tlds))]...)
	if r == HostCase {
		copy(dst[from:], bytes.ToUpper(dst[from:]))
	}
	if r == DefaultPort {
		dst = append(dst, port...)
	}
	return dst
}

// appendSlug appends words and the page's number.
func (t text) appendSlug(dst []byte, r Rule) []byte {
	switch r {
	case DupSlashes:
		dst = append(dst, '/')
	case DotSegments:
		dst = append(dst, "x/../"...)
	}
	h := again(t.h)
	for range 2 + h%4 {
		dst = append(append(dst, words[h>>32%uint64(len(words))]...), '-')
		h = again(h)
	}
	switch r { // every slug has an escape and a letter, so that both variants exist
	case EscapeCase:
		dst = append(dst, "%c3%a9-"...)
	default:
		dst = append(dst, "%C3%A9-"...)
	}
	if r == Unreserved {
		dst = append(dst, "%70"...)
	} else {
		dst = append(dst, 'p')
	}
	dst = strconv.AppendInt(dst, t.p.num, 36)
	if r == TrailingSlash {
		dst = append(dst, '/')
	}
	return dst
}

func (t text) appendDirectory(dst []byte, r Rule) []byte {
	if t.p.num > 0 {
		dst = strconv.AppendInt(append(dst, 'd'), t.p.num, 36)
		dst = append(dst, '/')
	}
	if r == Index {
		dst = append(dst, "index.html"...)
	}
	return dst
}

// appendQuery appends a script with two parameters, and what the rule adds.
func (t text) appendQuery(dst []byte, r Rule, salt uint64) []byte {
	switch r {
	case DupSlashes:
		dst = append(dst, '/')
	case DotSegments:
		dst = append(dst, "x/../"...)
	}
	if r == Unreserved {
		dst = append(dst, "%76iew.php?"...)
	} else {
		dst = append(dst, "view.php?"...)
	}
	cat := words[t.h>>40%uint64(len(words))]
	if r == ParamOrder {
		dst = append(t.appendID(dst, r), '&')
		dst = append(append(dst, "cat="...), cat...)
	} else {
		dst = append(append(append(dst, "cat="...), cat...), '&')
		dst = t.appendID(dst, r)
	}
	if r == EmptyParam {
		return append(dst, "&page="...)
	}
	return appendExtra(dst, '&', r, salt)
}

func (t text) appendID(dst []byte, r Rule) []byte {
	if r == EscapeCase {
		dst = append(dst, "id=%2f"...)
	} else {
		dst = append(dst, "id=%2F"...)
	}
	return strconv.AppendInt(dst, t.p.num, 10)
}

// appendExtra appends a parameter that a rule strips, after sep.
func appendExtra(dst []byte, sep byte, r Rule, salt uint64) []byte {
	switch r {
	case Tracking:
		names := [...]string{"utm_source=", "utm_campaign=", "fbclid=", "gclid="}
		dst = append(append(dst, sep), names[salt%4]...)
		return strconv.AppendUint(dst, salt>>2%1000, 36)
	case Session:
		dst = append(append(dst, sep), "PHPSESSID="...)
		h := again(salt)
		for range 8 {
			dst = append(dst, "0123456789abcdef"[h>>4&15], "0123456789abcdef"[h>>9&15], "0123456789abcdef"[h>>17&15], "0123456789abcdef"[h>>23&15])
			h = again(h)
		}
	case EmptyQuery:
		if sep == '?' {
			dst = append(dst, '?')
		}
	}
	return dst
}
