package sxurl

import (
	"encoding/binary"
	"fmt"
	mathbits "math/bits"
	"unsafe"
)

// bits are a key as four big-endian words, in which slices are put and found.
type bits [4]uint64

func (k *Key) bits() (b bits) {
	for i := range b {
		b[i] = binary.BigEndian.Uint64(k[8*i:])
	}
	return b
}

func (b *bits) key() (k Key) {
	for i, w := range b {
		binary.BigEndian.PutUint64(k[8*i:], w)
	}
	return k
}

// put sets a slice that is still 0. v must fit it.
func (b *bits) put(f field, v uint64) {
	i, shift := f.from/64, 64-f.from%64-f.width
	if shift >= 0 {
		b[i] |= v << shift
		return
	}
	b[i] |= v >> -shift
	b[i+1] |= v << (64 + shift)
}

func (b *bits) get(f field) uint64 {
	i, shift := f.from/64, 64-f.from%64-f.width
	if shift >= 0 {
		return b[i] >> shift & (1<<f.width - 1)
	}
	return (b[i]<<-shift | b[i+1]>>(64+shift)) & (1<<f.width - 1)
}

// parseBits reads 64 hexadecimal digits, eight at a time.
func parseBits(s string) (b bits, err error) {
	if len(s) != 64 {
		return bits{}, fmt.Errorf("cannot parse SXURL; got %d bytes; want 64 hexadecimal digits: %w", len(s), ErrLength)
	}
	text := unsafe.Slice(unsafe.StringData(s), len(s)) // only read
	var wrong uint64
	for i := range b {
		hi, w1 := eightDigits(binary.LittleEndian.Uint64(text[16*i:]))
		lo, w2 := eightDigits(binary.LittleEndian.Uint64(text[16*i+8:]))
		b[i] = uint64(hi)<<32 | uint64(lo)
		wrong |= w1 | w2
	}
	if wrong != 0 {
		return bits{}, fmt.Errorf("cannot parse SXURL; got %q; want 64 hexadecimal digits: %w", s, ErrHex)
	}
	return b, nil
}

// eightDigits reads eight hexadecimal digits at once, each a byte of x, the first the lowest.
// wrong is 0 if that is what they are. Bit 6 of a byte tells letters from digits, and
// writing the value again tells whether it was one.
func eightDigits(x uint64) (value uint32, wrong uint64) {
	const each = 0x0101010101010101
	letter := x >> 6 & each
	v := x&(15*each) + 9*letter
	aboveNine := (v + 0x76*each) >> 7 & each
	again := v + '0'*each + ('a'-10-'0')*aboveNine
	wrong = v&(0xf0*each) | (again ^ (x | letter<<5))

	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return mathbits.ReverseBytes32(uint32(v | v>>16)), wrong
}
