package shape

import (
	"testing"

	"github.com/firstseen/firstseen/canon"
)

func TestShapes(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"http://a.example", "a.example/"},
		{"http://user:pw@A.example:8080/x/", "a.example:8080/x/"},
		{"http://a.example/p/1234", "a.example/p/{number}"},
		{"http://a.example/p/1234/5.html", "a.example/p/{number}/{number}.html"},
		{"http://a.example/item-12_b.php?id=7&cat=3&id=8", "a.example/item-{number}_b.php?cat&id"},
		{"http://a.example/?b&a=1#top", "a.example/?a&b"},
		{"http://a.example/api/v1/users/7", "a.example/api/v1/users/{number}"},
		{"http://a.example/v1.2/x", "a.example/v1.2/x"},
		{"http://a.example/2026/01/31/", "a.example/{number}/{number}/{number}/"},
		{"http://a.example/news/2026-01-31", "a.example/news/{date}"},
		{"http://a.example/o/9f1c2d3e-1111-2222-3333-444455556666/x", "a.example/o/{uuid}/x"},
		{"http://a.example/o/d41d8cd98f00b204e9800998ecf8427e.png", "a.example/o/{hash}.png"},
		{"http://a.example/o/deadbeef", "a.example/o/deadbeef"},
		{"http://a.example/o/deadbee1", "a.example/o/{hash}"},
		{"http://a.example/o/dQw4w9WgXcQdQw4w9WgXcQ", "a.example/o/{hash}"},
		{"http://a.example/o/AnOrdinaryNameInCamelCase", "a.example/o/AnOrdinaryNameInCamelCase"},
		{"http://a.example/blog/how-to-merge-urls", "a.example/blog/{slug}"},
		{"http://a.example/blog/how-to-merge-10-urls.html", "a.example/blog/{slug}.html"},
		{"http://a.example/terms-of-service", "a.example/terms-of-service"},
		{"http://a.example/a;jsessionid=AB12?x=1", "a.example/a;jsessionid?x"},
		{"http://a.example/%E3%82%AF12", "a.example/%E3%82%AF{number}"},
		{"http://a.example/?a[0]=x&a[1]=y", "a.example/?a%5B{number}%5D"},
	} {
		form, err := canon.Qiita().Canonicalize(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Append(nil, []byte(form), canon.Host([]byte(form)))); got != c.want {
			t.Errorf("%s: got %s; want %s", c.url, got, c.want)
		}
	}
	if got := string(Append(nil, []byte("com,example)/7"), nil)); got != "com,example)/7" {
		t.Errorf("got %s; want what is no URL as it is", got)
	}
}

// TestNoURLLooksLikeAShape: a placeholder in the input stays different from a replaced part.
func TestNoURLLooksLikeAShape(t *testing.T) {
	of := func(url string) string {
		form, err := canon.Qiita().Canonicalize(url)
		if err != nil {
			t.Fatal(err)
		}
		return string(Append(nil, []byte(form), canon.Host([]byte(form))))
	}
	if a, b := of("http://a.example/{number}"), of("http://a.example/7"); a == b {
		t.Errorf("got %s for both; want two shapes", a)
	}
}
