package canon

import "testing"

// TestQiitaArticle is the eleven cases of the Qiita article that the profile is named
// after (qiita.com/mugwort_rc/items/4d9ad206072595644cfb), under its names.
func TestQiitaArticle(t *testing.T) {
	p := Qiita()
	for _, c := range []struct{ name, in, want string }{
		{"upper scheme", "HTTP://example.com/", "http://example.com/"},
		{"upper host", "http://EXAMPLE.COM/HOGE", "http://example.com/HOGE"},
		{"capitalize escape sequence", "http://example.com/%e3%81%a6%e3%81%99%e3%81%a8", "http://example.com/%E3%81%A6%E3%81%99%E3%81%A8"},
		{"unreserved escape", "http://example.com/%61%62%63", "http://example.com/abc"},
		{"remove default port", "http://example.com:80/", "http://example.com/"},
		{"remove default port", "https://example.com:443/", "https://example.com/"},
		{"root url", "http://example.com", "http://example.com/"},
		{"normalize path", "http://example.com/a/./b/../c", "http://example.com/a/c"},
		{"duplicate slash", "http://example.com/a//b/////c", "http://example.com/a/b/c"},
		{"normalize path, last slash", "http://example.com/a/./b/../c/", "http://example.com/a/c/"},
		{"query order", "http://example.com/?a=x&c=y&b=z", "http://example.com/?a=x&b=z&c=y"},
		{"empty parameter", "http://example.com/?a&b=&c=z", "http://example.com/?a=&b=&c=z"},
	} {
		if got, err := p.Canonicalize(c.in); got != c.want || err != nil {
			t.Errorf("%s: %q: got %q, %v; want %q", c.name, c.in, got, err, c.want)
		}
	}
}
