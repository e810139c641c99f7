package evidence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
		{"http://a.example/?a[0][12][b2]=x", "a.example/?a%5B{number}%5D%5B{number}%5D%5Bb2%5D"},
		{"http://a.example/path?param1&param2", "a.example/path?param1&param2"},
		{"http://a.example/path?param4&param5&param6", "a.example/path?param4&param5&param6"},
		{"http://a.example/git?p=x;a=tree;h=1", "a.example/git?a&h&p"},
		{"http://a.example/?q=x;y", "a.example/?q"},
		{"http://a.example/a;b=1;c2=3", "a.example/a;b;c2"},
		{"http://a.example/js/0-0c6e5e47ca6a3f3f7243.js", "a.example/js/{number}-{hash}.js"},
		{"http://a.example/js/app.0c6e5e47.min.js", "a.example/js/app.{hash}.min.js"},
		{"http://a.example/js/main_0C6E5E47CA6A3F3F.a1b2c.css", "a.example/js/main_{hash}.a{number}b{number}c.css"},
		{"http://a.example/o/1234567890123456", "a.example/o/{number}"},
		{"http://a.example/o/12345678901234567890123456789012", "a.example/o/{number}"},
		{"http://a.example/o/deadbeefdeadbeef", "a.example/o/{hash}"},
		{"http://a.example/o/B07XJ8C8F5", "a.example/o/{hash}"},
		{"http://a.example/o/4hqa0555fwsecu455xqckv45", "a.example/o/{hash}"},
		{"http://a.example/o/IPv4Address2Name", "a.example/o/IPv{number}Address{number}Name"},
		{"http://a.example/o/page2of10", "a.example/o/page{number}of{number}"},
		{"http://a.example/o/x-9f1c2d3e-1111-2222-3333-444455556666.pdf", "a.example/o/x-{uuid}.pdf"},
		{"http://a.example/o/9f1c2d3e-1111-2222-3333-4444555566667", "a.example/o/{hash}-{number}-{number}-{number}-{number}"},
		{"http://a.example/o/report-2026-01-31.pdf", "a.example/o/report-{date}.pdf"},
		{"http://a.example/o/2026.1.9_minutes", "a.example/o/{date}_minutes"},
		{"http://a.example/o/2026-13-31", "a.example/o/{number}-{number}-{number}"},
		{"http://a.example/o/2026-01-31-how-to-merge-urls", "a.example/o/{date}-{slug}"},
		{"http://a.example/o/how-to-merge-urls-0c6e5e47ca6a", "a.example/o/{slug}-{hash}"},
		{"http://a.example/o/chunk-main-0c6e5e47ca6a", "a.example/o/chunk-main-{hash}"},
		{"http://a.example/o/jquery-3.6.0.min.js", "a.example/o/jquery-{number}.{number}.{number}.min.js"},
		{"http://a.example/o/v2.10.3-rc1/a--b-", "a.example/o/v2.10.3-rc{number}/a--b-"},
		{"http://a.example/o/clip.mp4", "a.example/o/clip.mp4"},
	} {
		if got := shapeOf(t, canon.Qiita(), c.url); got != c.want {
			t.Errorf("%s: got %s; want %s", c.url, got, c.want)
		}
	}
	if got := string(AppendShape(nil, []byte("com,example)/7"), nil)); got != "com,example)/7" {
		t.Errorf("got %s; want what is no URL as it is", got)
	}
}

// shapeOf returns the shape of a URL under a profile.
func shapeOf(t *testing.T, p *canon.Profile, url string) string {
	t.Helper()
	form, err := p.Canonicalize(url)
	if err != nil {
		t.Fatal(err)
	}
	return string(AppendShape(nil, []byte(form), canon.Host([]byte(form))))
}

// TestNoURLLooksLikeAShape: a placeholder in the input stays different from a replaced part, also in
// forms that leave braces alone.
func TestNoURLLooksLikeAShape(t *testing.T) {
	for _, p := range []*canon.Profile{canon.Qiita(), canon.WHATWG(), canon.None(), canon.Scrapy()} {
		for _, c := range [][2]string{
			{"http://a.example/{number}", "http://a.example/7"},
			{"http://a.example/a-{hash}.js", "http://a.example/a-0c6e5e47ca6a3f3f.js"},
			{"http://a.example/?a[{number}]=1", "http://a.example/?a[7]=1"},
			{"http://a.example/a;b[{number}]", "http://a.example/a;b[7]"},
		} {
			if a, b := shapeOf(t, p, c[0]), shapeOf(t, p, c[1]); a == b {
				t.Errorf("%s: got %s for %s and %s; want two shapes", p, a, c[0], c[1])
			}
		}
	}
}

// TestNamesKeepShapesApart makes queries of random names. Two of them have one shape if and only if
// their sets of names are equal, but for indexes in brackets; values and order make no difference.
func TestNamesKeepShapesApart(t *testing.T) {
	pool := []string{"a", "a1", "a2", "param1", "param2", "1", "12", "0c6e5e47ca6a3f3f", "2026-01-31", "p[0]", "p[10]", "p[x1]", "p[x2]", "p%5B3%5D", "p[0]1", "[7]", "é"}
	index := regexp.MustCompile(`(\[|%5B)[0-9]+(\]|%5D)`)
	random := rand.New(rand.NewPCG(4, 6))
	bySet, byShape := map[string]string{}, map[string]string{}
	for range 5000 {
		var pairs, names []string
		for range random.IntN(5) {
			name := pool[random.IntN(len(pool))]
			pairs = append(pairs, name+"="+strconv.Itoa(random.IntN(100)))
			names = append(names, index.ReplaceAllString(name, "[]"))
		}
		slices.Sort(names)
		set := strings.Join(slices.Compact(names), "&")
		shape := shapeOf(t, canon.Qiita(), "http://a.example/x?"+strings.Join(pairs, "&"))
		if was, ok := bySet[set]; ok && was != shape {
			t.Fatalf("names %s: got shapes %s and %s; want one", set, was, shape)
		}
		if was, ok := byShape[shape]; ok && was != set {
			t.Fatalf("shape %s: got it for names %s and for %s", shape, was, set)
		}
		bySet[set], byShape[shape] = shape, set
	}
}

// TestGeneratedTokens puts generated values in all places of a segment: two URLs that differ in nothing
// else have one shape. Another word makes another.
func TestGeneratedTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 6))
	digits := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	const lowerHex, upperHex = "0123456789abcdef", "0123456789ABCDEF"
	generators := map[string]func() string{
		"{number}": func() string { return digits("0123456789", 1+random.IntN(40)) },
		"{date}": func() string {
			sep := string("-_."[random.IntN(3)])
			return strconv.Itoa(1990+random.IntN(40)) + sep + strconv.Itoa(1+random.IntN(12)) + sep + strconv.Itoa(1+random.IntN(31))
		},
		"{uuid}": func() string {
			return digits(lowerHex, 8) + "-" + digits(lowerHex, 4) + "-" + digits(upperHex, 4) + "-" + digits(lowerHex, 4) + "-" + digits(lowerHex, 12)
		},
		"{hash}": func() string { // with a letter and a digit, as all but few digests have
			return "a1" + digits([]string{lowerHex, upperHex}[random.IntN(2)], []int{6, 10, 18, 30, 38, 62}[random.IntN(6)])
		},
	}
	for kind, generate := range generators {
		for _, frame := range []string{"#", "#.js", "app-#.js", "app.#.css", "#_m.png", "0-#", "a_#-c.d", "app-#-0", "x/#/y", "#-#"} {
			want := "a.example/" + strings.ReplaceAll(strings.ReplaceAll(frame, "0", "{number}"), "#", kind)
			for range 50 {
				url := frame
				for strings.Contains(url, "#") {
					url = strings.Replace(url, "#", generate(), 1)
				}
				if got := shapeOf(t, canon.Qiita(), "http://a.example/"+url); got != want {
					t.Errorf("%s: got %s; want %s", url, got, want)
				}
			}
			if a, b := shapeOf(t, canon.Qiita(), "http://a.example/red-"+generate()), shapeOf(t, canon.Qiita(), "http://a.example/blue-"+generate()); a == b {
				t.Errorf("got %s for two words; want two shapes", a)
			}
		}
	}
}

// TestPairs judges testdata/pairs.tsv, whose README says where the pairs are from and what other tools
// make of them.
func TestPairs(t *testing.T) {
	text, err := os.ReadFile("testdata/pairs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var splits, merges, same, different int
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, "\t")
		equal := shapeOf(t, canon.Qiita(), f[1]) == shapeOf(t, canon.Qiita(), f[2])
		switch {
		case f[0] == "same":
			if same++; !equal {
				splits++
			}
		default:
			if different++; equal {
				merges++
			}
		}
	}
	got := fmt.Sprintf("false splits %d of %d, false merges %d of %d", splits, same, merges, different)
	if want := "false splits 234 of 569, false merges 9 of 154"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}
