package zerocopy

import (
	"encoding/binary"
	"testing"
)

func TestReader(t *testing.T) {
	value := AppendText(binary.AppendUvarint(nil, 1<<40), "text")
	value = append(binary.AppendUvarint(value, 7), 'b', 1, 2)
	r := Reader{B: value}
	if n, s, i, c, rest := r.Uvarint(), r.Text(), r.Int(), r.Byte(), r.Take(2); n != 1<<40 || s != "text" || i != 7 || c != 'b' || string(rest) != "\x01\x02" || r.Bad || len(r.B) != 0 {
		t.Errorf("got %d, %q, %d, %q, %x, then %+v; want what was written", n, s, i, c, rest, r)
	}
}

// TestReaderOfDamagedValues reads each field of values that are too short for it.
func TestReaderOfDamagedValues(t *testing.T) {
	read := map[string]func(r *Reader) bool{
		"number":       func(r *Reader) bool { return r.Uvarint() == 0 },
		"small number": func(r *Reader) bool { return r.Int() == 0 },
		"bytes":        func(r *Reader) bool { return r.Take(99) == nil },
		"fewer bytes":  func(r *Reader) bool { return r.Take(-1) == nil },
		"text":         func(r *Reader) bool { return r.Text() == "" },
	}
	for _, value := range [][]byte{nil, {0x80}, binary.AppendUvarint(nil, 1<<63)} {
		for name, zero := range read {
			if name == "number" && len(value) > 1 {
				continue // a number of 64 bits is one
			}
			r := Reader{B: value}
			if !zero(&r) || !r.Bad || len(r.B) != 0 {
				t.Errorf("%s of %x: got %+v; want it bad, and zero", name, value, r)
			}
			if r.Byte() != 0 || !r.Bad {
				t.Errorf("%s of %x: got a byte after it; want it bad", name, value)
			}
		}
	}
}
