package pebblestore

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// The first byte of a row's key names its table. FORMAT.md draws the rows.
const (
	tableMeta   = 'M' // M | name                     -> see meta.go
	tableCrawl  = 'C' // C | crawl4                   -> name
	tableGen    = 'G' // G | gen4                     -> crawl4 | created8 | last8 | keys8 | low16
	tablePacked = 'P' // P | gen4 | number8           -> keys
	tableRun    = 'R' // R | gen4 | file16            -> place in the file
	tableTomb   = 'T' // T | gen4 | key16             -> nothing
	tablePlace  = 'S' // S | crawl4 | key16           -> where a URL is queued
)

// rowBound is the key after all rows of a table.
func rowBound(table byte) []byte { return []byte{table + 1} }

// appendNumbered appends a table byte and a number: the key of a crawl or
// generation row, and the prefix of all rows of one.
func appendNumbered(dst []byte, table byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, table), n)
}

// keyRowLen is the length of the key of a row that a number and a key lead to.
const keyRowLen = 1 + 4 + keyLen

// appendKeyRow appends the key of a row of a number and a key.
func appendKeyRow(dst []byte, table byte, num uint32, k *store.Key) []byte {
	return append(appendNumbered(dst, table, num), k[:]...)
}

// afterNumbered is the first key after all rows of number n in a table.
func afterNumbered(table byte, n uint32) []byte {
	if n == 1<<32-1 {
		return rowBound(table)
	}
	return appendNumbered(nil, table, n+1)
}
