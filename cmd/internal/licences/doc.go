// Licences writes the licences of everything that is linked into firstseen: a
// table, and then each text as its owners want it passed on. A release has it
// beside the binaries. It fails where a dependency has no licence that it knows,
// or one that can't be given on together with Apache-2.0, and so does its test.
//
//	go run ./cmd/internal/licences >THIRD-PARTY.txt
//
// It reads texts, not lawyers' minds: who adds a dependency reads its licence.
package main
