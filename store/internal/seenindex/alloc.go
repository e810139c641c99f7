package seenindex

import (
	"slices"
	"unsafe"

	"github.com/firstseen/firstseen/store/internal/osfile"
)

// allocator hands out the arrays of segments. Arrays of one class have one
// length and fill slabs from the first to the last without a hole: when one is
// freed, the last of its class moves into its place.
type allocator struct {
	classes []class
	spare   [][]byte // slabs to be used again
	bytes   int64    // mapped
}

// class is the arrays of one length.
type class struct {
	bytes  int      // size
	owners []uint32 // segment of each array, in order of place
	slabs  []slab
}

type slab struct {
	mem  []byte
	used int // arrays
}

const (
	minSlab = 64 << 10
	maxSlab = 2 << 20 // a huge page
)

// classSlots returns the array lengths: none, for the class of what has no array,
// and then each an eighth longer than the last. The longest hold as many keys as a
// segment can count, a million million in all segments.
func classSlots() []int {
	out := []int{0}
	for n := 4; n < 1<<24; n += max(2, n/8) {
		out = append(out, n)
	}
	return out
}

func newAllocator() *allocator {
	a := &allocator{}
	for _, n := range classSlots() {
		a.classes = append(a.classes, class{bytes: n * wordLen})
	}
	return a
}

// get returns a zeroed array of class c for a segment, and its place.
func (a *allocator) get(c uint8, owner uint32) (unsafe.Pointer, uint32) {
	cl := &a.classes[c]
	if n := len(cl.slabs); n == 0 || (cl.slabs[n-1].used+1)*cl.bytes > len(cl.slabs[n-1].mem) {
		cl.slabs = append(cl.slabs, slab{mem: a.mapSlab(cl.bytes)})
	}
	s := &cl.slabs[len(cl.slabs)-1]
	p := unsafe.Pointer(&s.mem[s.used*cl.bytes])
	clear(unsafe.Slice((*byte)(p), cl.bytes))
	s.used++
	cl.owners = append(cl.owners, owner)
	return p, uint32(len(cl.owners) - 1)
}

// mapSlab returns a slab for arrays of n bytes: larger ones as the index
// grows, so that a small index wastes little and a large one maps seldom.
func (a *allocator) mapSlab(n int) []byte {
	size := minSlab
	for size < maxSlab && int64(size) < a.bytes/128 {
		size *= 2
	}
	for size < 4*n {
		size *= 2
	}
	for i, mem := range a.spare {
		if len(mem) >= size {
			a.spare = slices.Delete(a.spare, i, i+1)
			return mem
		}
	}
	a.bytes += int64(size)
	mem := osfile.MapMemory(size)
	if size >= maxSlab { // look-ups are spread over all of it
		osfile.Advise(mem, osfile.Huge)
	}
	return mem
}

// maxSpare is how many slabs are kept for the next need: keys that come in
// order fill one segment after the other, and each goes through all classes.
const maxSpare = 2

// unmapSlab takes a slab back.
func (a *allocator) unmapSlab(mem []byte) {
	a.spare = append(a.spare, mem)
	if len(a.spare) > maxSpare {
		a.bytes -= int64(len(a.spare[0]))
		osfile.Unmap(a.spare[0])
		a.spare = slices.Delete(a.spare, 0, 1)
	}
}

// put frees the array at p in place of class c. If another array had to move
// there, it returns the segment that owns it and ok.
func (a *allocator) put(c uint8, p unsafe.Pointer, place uint32) (moved uint32, ok bool) {
	cl := &a.classes[c]
	last := uint32(len(cl.owners) - 1)
	s := &cl.slabs[len(cl.slabs)-1]
	s.used--
	if place != last {
		top := unsafe.Pointer(&s.mem[s.used*cl.bytes])
		copy(unsafe.Slice((*byte)(p), cl.bytes), unsafe.Slice((*byte)(top), cl.bytes))
		moved, ok = cl.owners[last], true
		cl.owners[place] = moved
	}
	cl.owners = cl.owners[:last]
	if s.used == 0 {
		a.unmapSlab(s.mem)
		cl.slabs = cl.slabs[:len(cl.slabs)-1]
	}
	if 4*len(cl.owners) < cap(cl.owners) {
		cl.owners = slices.Clip(slices.Clone(cl.owners)) // the index has outgrown this class
	}
	return moved, ok
}

func (a *allocator) close() {
	for i := range a.classes {
		for _, s := range a.classes[i].slabs {
			osfile.Unmap(s.mem)
		}
	}
	for _, mem := range a.spare {
		osfile.Unmap(mem)
	}
}
