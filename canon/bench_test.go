package canon

import (
	"crypto/sha256"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/PuerkitoBio/purell"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Each benchmark goes over a whole corpus per iteration round and reports ns per URL.
// Compare the rows of one run only; `make bench-canon` prints them as ratios.

func eachCorpus(b *testing.B, f func(b *testing.B, urls [][]byte)) {
	for _, name := range corpora {
		b.Run(filepath.Base(name), func(b *testing.B) {
			urls := corpus(b, name)
			b.ReportAllocs()
			b.ResetTimer()
			done := reportCPU(b)
			f(b, urls)
			done()
		})
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	p := Qiita()
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		var dst []byte
		for i := range b.N {
			dst, _ = p.AppendCanonical(dst[:0], urls[i%len(urls)])
		}
	})
}

func BenchmarkCanonicalize(b *testing.B) {
	p := Qiita()
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		texts := make([]string, len(urls))
		for i := range urls {
			texts[i] = string(urls[i])
		}
		b.ResetTimer()
		for i := range b.N {
			_, _ = p.Canonicalize(texts[i%len(texts)])
		}
	})
}

// BenchmarkAppendAndSHA256 is what a key costs.
func BenchmarkAppendAndSHA256(b *testing.B) {
	p := Qiita()
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		var dst []byte
		var sum [sha256.Size]byte
		for i := range b.N {
			dst, _ = p.AppendCanonical(dst[:0], urls[i%len(urls)])
			sum = sha256.Sum256(dst)
		}
		_ = sum
	})
}

func BenchmarkNetURL(b *testing.B) {
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		for i := range b.N {
			if u, err := url.Parse(string(urls[i%len(urls)])); err == nil {
				_ = u.String()
			}
		}
	})
}

// nearest are the purell flags that come nearest to the profile.
const nearest = purell.FlagsSafe | purell.FlagRemoveDotSegments | purell.FlagRemoveDuplicateSlashes |
	purell.FlagSortQuery | purell.FlagRemoveEmptyPortSeparator | purell.FlagRemoveFragment

func BenchmarkPurell(b *testing.B) {
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		for i := range b.N {
			_, _ = purell.NormalizeURLString(string(urls[i%len(urls)]), nearest)
		}
	})
}

func BenchmarkWhatwgURL(b *testing.B) {
	eachCorpus(b, func(b *testing.B, urls [][]byte) {
		for i := range b.N {
			if u, err := whatwg.Parse(string(urls[i%len(urls)])); err == nil {
				_ = u.Href(false)
			}
		}
	})
}
