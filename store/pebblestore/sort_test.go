package pebblestore

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/store"
)

func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, smallSort - 1, smallSort, 1000, 70_000} {
		keys := make([]store.Key, n)
		for i := range keys {
			keys[i] = testKey(rand.N(max(1, n/2)))
			keys[i][0] &= 3 // many that are equal so far
		}
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return bytes.Compare(keys[a][:2], keys[b][:2]) })
		if got := new(sorter).sort(keys); !slices.Equal(got, want) {
			t.Errorf("%d keys: wrong order", n)
		}
	}
}
