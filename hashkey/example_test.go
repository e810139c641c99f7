package hashkey_test

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
)

// The key of a seen-set: the same for every spelling of a URL.
func ExampleSumShort() {
	for _, raw := range []string{"HTTP://Example.com:80/%7Eme/", "http://example.com/~me/#top"} {
		canonical, err := canon.Qiita().AppendCanonical(nil, []byte(raw))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(hashkey.SumShort(canonical))
	}
	// Output:
	// fa8d2aad9e867d563c51fe7380bf6395
	// fa8d2aad9e867d563c51fe7380bf6395
}

// The three widths are prefixes of each other.
func ExampleUrlHash_Short() {
	h := hashkey.SumString("https://example.com/")
	fmt.Println(h)
	fmt.Println(h.Short(), h.StartsWith(h.Short()))
	fmt.Println(h.VeryShort(), h.StartsWithJust(h.VeryShort()))
	// Output:
	// 0f115db062b7c0dd030b16878c99dea5c354b49dc37b38eb8846179c7783e9d7
	// 0f115db062b7c0dd030b16878c99dea5 true
	// 0f115db062b7c0dd true
}

// The decimal form of the url-hash crate.
func ExampleUrlHash_Display() {
	fmt.Println(hashkey.SumString("https://doc.rust-lang.org/").Display())
	// Output:
	// 14303859839239296540-11564373699525640810-10936072865695368339-8846166270075127252
}

func ExampleCollisionOdds() {
	fmt.Printf("%.0e\n", hashkey.CollisionOdds(1e10, 128))
	fmt.Printf("%.2f\n", hashkey.CollisionOdds(1e10, 64))
	// Output:
	// 1e-19
	// 0.93
}
