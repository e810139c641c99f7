package audit

import (
	"strings"
	"testing"
)

func TestDigests(t *testing.T) {
	d := newDigests()
	const sha1Base32, sha1Hex = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"
	const md5 = "d41d8cd98f00b204e9800998ecf8427e"
	sha256 := strings.Repeat("0123456789abcdef", 4)
	for i, c := range []struct {
		in   string
		id   uint32
		text string
	}{
		{sha1Base32, 0, sha1Base32},
		{sha1Hex, 0, sha1Base32}, // one content, whatever the alphabet
		{strings.ToLower(sha1Hex), 0, sha1Base32},
		{md5, 1, md5},
		{strings.ToUpper(md5), 1, md5},
		{sha256, 2, sha256},
		{"A", 3, "A"},
		{strings.ToLower(sha1Base32), 4, strings.ToLower(sha1Base32)}, // base32 is upper-case, so this is something else
		{"A", 3, "A"},
	} {
		if i == 5 {
			d.index.drop()
		}
		id, err := d.add(c.in)
		if err != nil || id != c.id || d.text(id) != c.text {
			t.Errorf("%s: got number %d, %v, text %s; want %d, %s", c.in, id, err, d.text(id), c.id, c.text)
		}
	}
	if d.len() != 5 || len(d.texts) != 3 {
		t.Errorf("got %d digests, %d with a text; want 5 and 3", d.len(), len(d.texts))
	}
}

// TestSortTakesLaterCaptures checks that captures added after a sort are sorted into those of their
// URL, in order of time.
func TestSortTakesLaterCaptures(t *testing.T) {
	l := captureLog(t)
	add := func(second int64, url string) {
		t.Helper()
		if err := l.Add(at(second, url, "A")); err != nil {
			t.Fatal(err)
		}
	}
	add(5, "http://b/")
	add(3, "http://a/")
	l.sort()
	add(1, "http://b/")
	add(4, "http://c/")
	add(9, "http://b/")
	l.sort()
	var got []uint32
	for url := range uint32(l.urls.len()) {
		for _, c := range l.of(url) {
			got = append(got, url, c.time)
		}
	}
	want := []uint32{0, 1, 0, 5, 0, 9, 1, 3, 2, 4}
	if len(got) != len(want) {
		t.Fatalf("got %v; want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v; want %v", got, want)
		}
	}
	if id, err := l.urls.add("http://b/"); err != nil || id != 0 {
		t.Errorf("got %d, %v; want the number that the URL had before", id, err)
	}
}
