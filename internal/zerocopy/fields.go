package zerocopy

import "encoding/binary"

// Reader reads the fields of B, a value that consists of them one after another: numbers as
// uvarints, texts after their length. Values in stores and files have this form. If a field is cut short, Bad is set, B is empty, and that
// field and all later ones are zero; so callers check Bad once, at the end.
type Reader struct {
	B   []byte // the unread rest
	Bad bool
}

// Uvarint returns the next number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Int returns the next number, which must be less than 1<<31.
func (r *Reader) Int() int {
	v := r.Uvarint()
	if v >= 1<<31 {
		r.fail()
		return 0
	}
	return int(v)
}

// Take returns the next n bytes, which are part of B.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.fail()
		return nil
	}
	v := r.B[:n]
	r.B = r.B[n:]
	return v
}

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Text returns the next text: see [AppendText].
func (r *Reader) Text() string { return string(r.Take(r.Int())) }

func (r *Reader) fail() { r.B, r.Bad = nil, true }

// AppendText appends a text after its length.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
