// Package storebench measures any seen-set on one stream of keys, and checks
// every answer against the truth.
//
// The keys are those of generated URLs whose hosts are skewed as on the web: a
// few hosts have most of the pages. The n-th key is a function of n alone, so
// every program in a comparison gets the same stream.
package storebench

import (
	"math"
	"strconv"
	"sync"

	"github.com/firstseen/firstseen/hashkey"
)

// hosts is how many hosts the URLs are spread over.
const hosts = 1_000_000

// AppendURL appends the n-th URL.
func AppendURL(dst []byte, n uint64) []byte {
	u := float64(mix(n)>>11) / (1 << 53)
	host := int64(math.Exp2(u * math.Log2(hosts))) // rank r with a share of about 1/r
	dst = append(dst, "https://www.site"...)
	dst = strconv.AppendInt(dst, host, 36)
	dst = append(dst, ".example/articles/"...)
	dst = strconv.AppendUint(dst, n%977, 10)
	dst = append(dst, "/page-"...)
	return append(strconv.AppendUint(dst, n, 10), ".html"...)
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Keys returns the keys of the URLs 0 to n-1, made by all processors.
func Keys(n int) []hashkey.UrlShortHash {
	keys := make([]hashkey.UrlShortHash, n)
	const part = 1 << 16
	var wg sync.WaitGroup
	limit := make(chan struct{}, 4)
	for lo := 0; lo < n; lo += part {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			var url []byte
			for i := lo; i < min(lo+part, n); i++ {
				url = AppendURL(url[:0], uint64(i))
				keys[i] = hashkey.SumShort(url)
			}
		})
	}
	wg.Wait()
	return keys
}
