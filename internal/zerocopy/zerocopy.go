// Package zerocopy reads bytes where they are: [Bytes] and [String] view strings as bytes and bytes as strings, for callees that only read and keep nothing, and
// for bytes that nobody will change; a [Reader] takes a value apart.
package zerocopy

import "unsafe"

// Bytes returns the bytes of s. They must not be changed.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// String returns b as a string, which must not be used when b has changed.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
