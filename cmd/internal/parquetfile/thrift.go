package parquetfile

import (
	"encoding/binary"
	"fmt"
)

// thrift reads the compact protocol of Thrift, in which footers and page headers are.
type thrift struct {
	b        []byte
	at       int
	elements int // of lists, sets and maps so far
}

// The types of the compact protocol.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftI8
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
	thriftUUID
)

func (t *thrift) byte() (byte, error) {
	if t.at >= len(t.b) {
		return 0, errBroken
	}
	t.at++
	return t.b[t.at-1], nil
}

func (t *thrift) uvarint() (uint64, error) {
	v, n := binary.Uvarint(t.b[t.at:])
	if n <= 0 {
		return 0, errBroken
	}
	t.at += n
	return v, nil
}

func (t *thrift) integer() (int64, error) {
	v, err := t.uvarint()
	return int64(v>>1) ^ -int64(v&1), err
}

func (t *thrift) pass(n uint64) error {
	if n > uint64(len(t.b)-t.at) {
		return errBroken
	}
	t.at += int(n)
	return nil
}

// structure reads a struct. It calls field, if there is one, for each of its fields; what
// that returns false for is passed over.
func (t *thrift) structure(depth int, field func(id int64, kind byte) (bool, error)) error {
	if depth > maxThriftDepth {
		return errBroken
	}
	for id := int64(0); ; {
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else if id, err = t.integer(); err != nil {
			return err
		}
		done := false
		if field != nil {
			if done, err = field(id, head&15); err != nil {
				return err
			}
		}
		if !done {
			if err := t.value(head&15, depth, true); err != nil {
				return err
			}
		}
	}
}

// value passes over a value. A boolean that is a field has its value in its type.
func (t *thrift) value(kind byte, depth int, isField bool) error {
	switch kind {
	case thriftTrue, thriftFalse:
		if isField {
			return nil
		}
		return t.pass(1)
	case thriftI8:
		return t.pass(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := t.uvarint()
		return err
	case thriftDouble:
		return t.pass(8)
	case thriftUUID:
		return t.pass(16)
	case thriftBinary:
		n, err := t.uvarint()
		if err != nil {
			return err
		}
		return t.pass(n)
	case thriftList, thriftSet:
		return t.list(depth)
	case thriftMap:
		return t.dictionary(depth)
	case thriftStruct:
		return t.structure(depth+1, nil)
	}
	return errBroken
}

func (t *thrift) list(depth int) error {
	head, err := t.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = t.uvarint(); err != nil {
			return err
		}
	}
	return t.many(n, depth, head&15)
}

func (t *thrift) dictionary(depth int) error {
	n, err := t.uvarint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := t.byte()
	if err != nil {
		return err
	}
	return t.many(n, depth, kinds>>4, kinds&15)
}

// many passes over n values, or n tuples of values.
func (t *thrift) many(n uint64, depth int, kinds ...byte) error {
	if n > uint64(maxElements-t.elements) || depth >= maxThriftDepth {
		return fmt.Errorf("got lists of more than %d elements: %w", maxElements, errBroken)
	}
	t.elements += int(n)
	for range n {
		for _, kind := range kinds {
			if err := t.value(kind, depth+1, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// pageHeader has the fields of the header of a page.
type pageHeader struct {
	kind, unpacked, packed int64
	values, encoding       int64
	levels                 int64 // bytes of levels before the values, not packed, of a page of version 2
	plain                  bool  // the values of a page of version 2 are not packed
}

// The kinds of pages.
const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPageV2     = 3
)

// readPageHeader reads a header and returns its length.
func readPageHeader(b []byte) (h pageHeader, n int, err error) {
	t := thrift{b: b}
	integerInto := func(to *int64, kind byte) (bool, error) {
		if kind != thriftI32 && kind != thriftI64 && kind != thriftI16 {
			return false, nil
		}
		v, err := t.integer()
		*to = v
		return true, err
	}
	err = t.structure(0, func(id int64, kind byte) (bool, error) {
		if kind == thriftStruct && id != 5 && id != 7 && id != 8 {
			return false, nil
		}
		switch id {
		case 1:
			return integerInto(&h.kind, kind)
		case 2:
			return integerInto(&h.unpacked, kind)
		case 3:
			return integerInto(&h.packed, kind)
		case 5, 7, 8:
			if kind != thriftStruct {
				return false, nil
			}
			return true, t.structure(1, func(inner int64, kind byte) (bool, error) {
				switch {
				case inner == 1:
					return integerInto(&h.values, kind)
				case inner == 2 && id != 8, inner == 4 && id == 8:
					return integerInto(&h.encoding, kind)
				case (inner == 5 || inner == 6) && id == 8:
					var more int64
					done, err := integerInto(&more, kind)
					h.levels += more
					return done, err
				case inner == 7 && id == 8:
					h.plain = kind == thriftFalse
				}
				return false, nil
			})
		}
		return false, nil
	})
	return h, t.at, err
}
