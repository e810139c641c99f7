package sched

import "slices"

// Heap is a binary heap whose members know their index, so that any member can be removed in
// logarithmic time. Each member has an int32 for this. Unlike container/heap, it boxes no values and
// needs no look-up of the index. It is made by [NewHeap].
type Heap[T any] struct {
	s      []T
	before func(a, b T) bool
	slot   func(T) *int32
}

// NewHeap returns an empty heap ordered by before. slot returns where a member keeps
// its place, which is valid only while the member is in a heap.
func NewHeap[T any](before func(a, b T) bool, slot func(T) *int32) *Heap[T] {
	return &Heap[T]{before: before, slot: slot}
}

// Len returns the number of members.
func (h *Heap[T]) Len() int { return len(h.s) }

// Members returns the members in no particular order, as a copy.
func (h *Heap[T]) Members() []T { return slices.Clone(h.s) }

// Top returns the first member of a heap that is not empty.
func (h *Heap[T]) Top() T { return h.s[0] }

// Push adds x, which must not be in a heap with the same slot.
func (h *Heap[T]) Push(x T) {
	h.s = append(h.s, x)
	h.fix(len(h.s) - 1)
}

// Remove takes out x, which must be in this heap.
func (h *Heap[T]) Remove(x T) {
	i, last := int(*h.slot(x)), len(h.s)-1
	h.s[i] = h.s[last]
	var none T
	h.s[last] = none
	h.s = h.s[:last]
	if i < last {
		h.fix(i)
	}
}

// fix moves the member at i up or down to its place.
func (h *Heap[T]) fix(i int) {
	x := h.s[i]
	for parent := (i - 1) / 2; i > 0 && h.before(x, h.s[parent]); parent = (i - 1) / 2 {
		h.put(i, h.s[parent])
		i = parent
	}
	for kid := 2*i + 1; kid < len(h.s); kid = 2*i + 1 {
		if kid+1 < len(h.s) && h.before(h.s[kid+1], h.s[kid]) {
			kid++
		}
		if !h.before(h.s[kid], x) {
			break
		}
		h.put(i, h.s[kid])
		i = kid
	}
	h.put(i, x)
}

func (h *Heap[T]) put(i int, x T) {
	h.s[i] = x
	*h.slot(x) = int32(i)
}
