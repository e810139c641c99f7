package sxurl

import (
	"encoding/binary"
	mathbits "math/bits"
	"unsafe"

	"github.com/firstseen/firstseen/internal/fault"
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
	i, end := f.from/64, f.from%64+f.width
	if end <= 64 {
		b[i&3] |= v << ((64 - end) & 63)
		return
	}
	b[i&3] |= v >> ((end - 64) & 63)
	b[(i+1)&3] |= v << ((128 - end) & 63)
}

// get returns a slice: it shifts the slice and the bits that follow it in the next word to the
// left end, and then to the right. The masks let the compiler drop its bounds checks.
func (b *bits) get(f field) uint64 {
	i, skip := f.from/64, f.from&63
	left := b[i&3]<<skip | b[(i+1)&3]>>1>>(63-skip)
	return left >> ((64 - f.width) & 63)
}

// parse reads 64 hexadecimal digits, sixteen at a time. On error it leaves b as it was.
func (b *bits) parse(s string) error {
	if len(s) != 64 {
		return fault.As(ErrLength, "cannot parse SXURL; got %d bytes; want 64 hexadecimal digits", len(s))
	}
	text := (*[64]byte)(unsafe.Pointer(unsafe.StringData(s))) // only read
	w0, wrong0 := sixteenDigits(text, 0)
	w1, wrong1 := sixteenDigits(text, 16)
	w2, wrong2 := sixteenDigits(text, 32)
	w3, wrong3 := sixteenDigits(text, 48)
	if wrong0|wrong1|wrong2|wrong3 != 0 {
		return fault.As(ErrHex, "cannot parse SXURL; got %q; want 64 hexadecimal digits", s)
	}
	b[0], b[1], b[2], b[3] = w0, w1, w2, w3
	return nil
}

// sixteenDigits reads hexadecimal digits eight at once, each a byte of a number, the first
// the lowest. wrong is 0 if all are digits. Bit 6 of a byte distinguishes letters from digits;
// encoding the value again shows whether the byte was a digit at all.
func sixteenDigits(text *[64]byte, from uint) (value, wrong uint64) {
	const each = 0x0101010101010101
	for i := range uint(2) {
		x := binary.LittleEndian.Uint64(text[(from+8*i)&63:])
		letter := x >> 6 & each
		v := x&(15*each) + 9*letter
		aboveNine := (v + 0x76*each) >> 7 & each
		again := v + '0'*each + ('a'-10-'0')*aboveNine
		wrong |= v&(0xf0*each) | (again ^ (x | letter<<5))

		v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
		v = (v | v>>8) & 0x0000ffff0000ffff
		value = value<<32 | uint64(mathbits.ReverseBytes32(uint32(v|v>>16)))
	}
	return value, wrong
}
