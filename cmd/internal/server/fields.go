package server

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// field cuts the first field off b: its one-byte tag, and its value when it has
// a length. ok is false at what the fast path doesn't read.
func field(b []byte) (tag byte, value, rest []byte, ok bool) {
	if tag = b[0]; tag >= 0x80 {
		return 0, nil, nil, false
	}
	switch protowire.Type(tag & 7) {
	case protowire.BytesType:
		n, used := protowire.ConsumeVarint(b[1:])
		if used < 0 || n > uint64(len(b)-1-used) {
			return 0, nil, nil, false
		}
		at := 1 + used
		end := at + int(n)
		return tag, b[at:end:end], b[end:], true
	case protowire.VarintType:
		_, used := protowire.ConsumeVarint(b[1:])
		if used < 0 {
			return 0, nil, nil, false
		}
		return tag, b[1 : 1+used], b[1+used:], true
	}
	return 0, nil, nil, false
}

// Tags: the number of a field, and how its value is written.
const (
	bytes1  = 1<<3 | byte(protowire.BytesType)
	bytes2  = 2<<3 | byte(protowire.BytesType)
	bytes3  = 3<<3 | byte(protowire.BytesType)
	bytes4  = 4<<3 | byte(protowire.BytesType)
	varint2 = 2<<3 | byte(protowire.VarintType)
	varint4 = 4<<3 | byte(protowire.VarintType)
)

// asText is a string field's value, which shares b's memory.
func asText(b []byte) (string, bool) {
	return unsafe.String(unsafe.SliceData(b), len(b)), utf8.Valid(b)
}

// isEntry reports whether b is an entry of the metadata as clients write them: a
// name, then a list of values.
func isEntry(b []byte) bool {
	for last := byte(0); len(b) > 0; {
		tag, value, rest, ok := field(b)
		if !ok || tag <= last || tag == bytes1 && !utf8.Valid(value) || tag == bytes2 && !isList(value) || tag != bytes1 && tag != bytes2 {
			return false
		}
		last, b = tag, rest
	}
	return true
}

// isList reports whether b is a StringList.
func isList(b []byte) bool {
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		if !ok || tag != bytes1 || !utf8.Valid(value) {
			return false
		}
		b = rest
	}
	return true
}

// isMetadata reports whether a URL's data is metadata as this package stores it.
// What isn't, such as that of a URL added by other means, is not for the wire.
func isMetadata(b []byte) bool {
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		if !ok || tag != bytes3 || !isEntry(value) {
			return false
		}
		b = rest
	}
	return true
}
