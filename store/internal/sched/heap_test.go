package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type member struct {
	n    int
	slot int32
}

// TestPopsAsAListWould pushes and removes at random and compares the first member with
// that of a list.
func TestPopsAsAListWould(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := NewHeap(func(a, b *member) bool { return a.n < b.n }, func(m *member) *int32 { return &m.slot })
	var list []*member
	for range 20_000 {
		if len(list) == 0 || rng.IntN(5) < 3 && len(list) < 200 {
			m := &member{n: rng.IntN(50)}
			list = append(list, m)
			h.Push(m)
		} else {
			i := rng.IntN(len(list))
			h.Remove(list[i])
			list = slices.Delete(list, i, i+1)
		}
		if h.Len() != len(list) {
			t.Fatalf("got %d members; want %d", h.Len(), len(list))
		}
		if len(list) == 0 {
			continue
		}
		least := slices.MinFunc(list, func(a, b *member) int { return a.n - b.n })
		if got := h.Top().n; got != least.n {
			t.Fatalf("got %d first; want %d", got, least.n)
		}
	}
}
