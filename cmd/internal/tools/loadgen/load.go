package main

import (
	"fmt"
	"math"
)

// load is a sequence of URLs.
type load struct {
	sends, hosts int
	repeats      float64 // share of sends that repeat an earlier one
}

// mix is the finalizer of splitmix64: a random function of a counter.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func unit(x uint64) float64 { return float64(mix(x)>>11) / (1 << 53) }

// urls returns the sequence, each URL as an encoded URLInfo. A repeat is more
// likely of an early URL, as on the web, where home pages are linked most.
func (l load) urls() [][]byte {
	infos := make([][]byte, 0, l.sends)
	var unique [][]byte
	for i := range uint64(l.sends) {
		if len(unique) > 0 && unit(3*i) < l.repeats {
			infos = append(infos, unique[int(float64(len(unique))*math.Pow(unit(3*i+1), 2))])
			continue
		}
		host := int(float64(l.hosts) * math.Pow(unit(3*i+1), 2))
		key := fmt.Sprintf("host%d.example", host)
		u := encodeInfo(fmt.Sprintf("https://%s/section/%x/page-%d.html?id=%d", key, mix(i)>>44, i, mix(i)%1_000_000), key)
		unique = append(unique, u)
		infos = append(infos, u)
	}
	return infos
}

// share returns every n-th of the URLs, beginning with the k-th.
func share(urls [][]byte, k, n int) [][]byte {
	var part [][]byte
	for i := k; i < len(urls); i += n {
		part = append(part, urls[i])
	}
	return part
}
