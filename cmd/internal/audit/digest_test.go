package audit

import (
	"strings"
	"testing"
)

func TestDigests(t *testing.T) {
	const sha1Base32, sha1Hex = "5EJ6EPZDAGVYKVFECYINYOG3KDX6EIE3", "E913E23F2301AB8554A41610DC38DB50EFE2209B"
	const md5 = "d41d8cd98f00b204e9800998ecf8427e"
	sha256 := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct {
		in, want string
		kind     int
	}{
		{sha1Base32, sha1Base32, 0},
		{"sha1:" + sha1Base32, sha1Base32, 0},
		{sha1Hex, sha1Base32, 0}, // one content, whatever the alphabet
		{strings.ToLower(sha1Hex), sha1Base32, 0},
		{md5, md5, 32},
		{strings.ToUpper(md5), md5, 32},
		{sha256, sha256, 64},
		{"A", "A", 1},
		{strings.ToLower(sha1Base32), strings.ToLower(sha1Base32), 32}, // base32 is upper-case, so this is something else
		{"-", "", 0},
		{EmptyBody, "", 0},
		{"da39a3ee5e6b4b0d3255bfef95601890afd80709", "", 0}, // the same in hex
	} {
		if got := digestOf(c.in); got != c.want || kindOf([]byte(got)) != c.kind {
			t.Errorf("%s: got %s of kind %d; want %s, %d", c.in, got, kindOf([]byte(got)), c.want, c.kind)
		}
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
