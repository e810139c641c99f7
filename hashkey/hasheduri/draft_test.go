package hasheduri

import "testing"

// TestDraftExamples are the examples printed in draft-feather-hashed-uri-03.
func TestDraftExamples(t *testing.T) {
	for _, c := range []struct {
		name, uri string
		h         Hasher
		want      string
	}{
		{"an opaque URI", "mailto:clive@demon.net", Hasher{Algorithm: "md5"}, "hashed:md5=cd933f3b87ee60e58917448c9678ee32"},
		{"a URL without a slash at the end", "http://www.thus.net", Hasher{Algorithm: "md5"}, "hashed:md5=be96302a0468481aca954431cf293e05"},
		{"the same", "http://www.thus.net", Hasher{}, "hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481"},
		// The hash is that of the host in lower case, so the example is of variant N.
		{"in other letters", "HTTP://www.Thus.net", Hasher{Variant: N}, "hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481"},
		{"a fragment, dropped", "http://www.thus.net#end", Hasher{Variant: N}, "hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481"},
		{"a fragment, kept", "http://www.thus.net#end", Hasher{Variant: N, KeepFragment: true}, "hashed:sha1=31a79a96e0404778a3b95cb426b04b6114a604a5+frag"},
		// By section 4.3 escapes stay, but the printed hash of this URI is that of
		// "http://10.20.30.40/abc", decoded. We follow the printed hash, because
		// implementations are more likely to be tested against it.
		{"an escaped letter", "http://10.20.30.40/a%62c", Hasher{Algorithm: "md5", Variant: N}, "hashed:md5=754a2c63a13aa2e8153d027066e31f8f"},
		// The hash by the words of section 4.3; the draft does not print it.
		{"an escaped letter, literally", "http://10.20.30.40/a%62c", Hasher{Algorithm: "md5", Variant: N, Literal: true}, "hashed:md5=837469781676816f7c7fd04a4e8087d8"},
	} {
		u, err := c.h.Sum(c.uri)
		if u.String() != c.want || err != nil {
			t.Errorf("%s: %s: got %s, %v; want %s", c.name, c.uri, u, err, c.want)
		}
		if ok, err := c.h.Match(u, c.uri); !ok || err != nil {
			t.Errorf("%s: %s does not match %s: %t, %v", c.name, u, c.uri, ok, err)
		}
	}
}

// TestSlashAtTheEndMatters: the form with a slash, which the URL Standard would write,
// has other hashes than the draft prints.
func TestSlashAtTheEndMatters(t *testing.T) {
	u, err := (&Hasher{Algorithm: "md5", Variant: N}).Sum("http://www.thus.net/")
	if want := "hashed:md5=21409beee6f1bfc951c42040c54af934"; u.String() != want || err != nil {
		t.Errorf("got %s, %v; want %s", u, err, want)
	}
}
