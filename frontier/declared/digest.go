package declared

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// minWords is how many words a page must have for its text to stand for it. A page that a script
// writes has hardly any, and would be the same as every other of its site.
const minWords = 20

// Digest returns a digest of what a visitor sees of a page, for frontier.Fetched: of its text, and of the addresses
// of its images, videos and frames, without their hosts. It stays the same if scripts, styles, comments, tokens in
// forms, the targets of links or white space change, as they do on many sites at every fetch. Numbers
// count: "page 2" is not "page 3".
//
// If the content is not HTML, or has fewer than 20 words, it is the SHA-1 of the bytes. The two kinds are never
// equal, so both can be reported of one site. The time grows with the length of the body, about as that of
// reading its links.
func Digest(contentType string, body []byte) string {
	seen := sha256.New() // no SHA-1: audits compare digests of one length only
	if words := visible(contentType, body, func(word []byte, _ bool) {
		_, _ = seen.Write(word) // a hash never fails
		_, _ = seen.Write([]byte{' '})
	}); words < minWords {
		exact := sha1.Sum(body)
		return "sha1:" + hex.EncodeToString(exact[:])
	}
	return "text:" + hex.EncodeToString(seen.Sum(nil))
}

// signInDigest is Page.SignIn. Nearly all pages have no such field, and are not read further. A page that writes it in another way is taken for one of them.
func signInDigest(contentType string, body []byte) uint64 {
	for rest, asks := body, false; !asks; {
		var before []byte
		if before, rest, asks = bytes.Cut(rest, []byte("password")); !asks {
			return 0
		}
		asks = bytes.HasSuffix(bytes.TrimRight(before, `"'`), []byte("type="))
	}
	h := fnv.New64a()
	visible(contentType, body, func(word []byte, _ bool) {
		_, _ = h.Write(word) // a hash never fails
		_, _ = h.Write([]byte{' '})
	})
	return h.Sum64() | 1
}

// visible calls add with each word of an HTML page that a visitor sees, and with the addresses of its images, and returns
// how many these were. A page of another type has none.
func visible(contentType string, body []byte, add func(word []byte, isAddress bool)) (words int) {
	if !strings.Contains(strings.ToLower(contentType), "html") {
		return 0
	}
	addAll := func(text []byte, isAddress bool) {
		for word := range bytes.FieldsFuncSeq(text, unicode.IsSpace) {
			words++
			add(word, isAddress)
		}
	}
	hidden := "" // the element that hides what follows
	for z := html.NewTokenizer(bytes.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken: // the end
			return words
		case html.TextToken:
			if hidden == "" {
				addAll(z.Text(), false)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch tag := string(name); tag {
			case "script", "style", "template":
				if hidden == "" {
					hidden = tag
				}
			case "img", "video", "audio", "source", "iframe", "embed", "object":
				if hidden == "" && more {
					addAll(address(z), true)
				}
			}
		}
	}
}

// address returns what an element shows, nil for a pixel that counts visitors.
func address(z *html.Tokenizer) (src []byte) {
	for more := true; more; {
		var name, value []byte
		name, value, more = z.TagAttr()
		switch string(name) {
		case "src", "data":
			value, _, _ = bytes.Cut(value, []byte("#")) // some sites put a random secret there
			value = bytes.TrimPrefix(bytes.TrimPrefix(value, []byte("http:")), []byte("https:"))
			if rest, ok := bytes.CutPrefix(value, []byte("//")); ok { // or take one of several hosts
				_, value, _ = bytes.Cut(rest, []byte("/"))
			}
			src = bytes.Clone(value)
		case "width", "height":
			if size := string(bytes.TrimSpace(value)); size == "0" || size == "1" || size == "2" {
				return nil
			}
		}
	}
	return src
}
