package pebblestore

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// The first byte of a row's key names its table. FORMAT.md draws the rows.
const (
	tableMeta  = 'M' // M | name                     -> see meta.go
	tableCrawl = 'C' // C | crawl4                   -> name
	tableGen   = 'G' // G | gen4                     -> crawl4 | created8 | last8 | keys8
	tableSeen  = 'S' // S | gen4 | key16             -> empty, or what the queue side notes
)

// rowBound is the key after all rows of a table.
func rowBound(table byte) []byte { return []byte{table + 1} }

// appendNumbered appends a table byte and a number: the key of a crawl or
// generation row, and the prefix of all rows of one.
func appendNumbered(dst []byte, table byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, table), n)
}

// seenRowLen is the length of the key of a seen row.
const seenRowLen = 1 + 4 + len(store.Key{})

// appendSeenRow appends the key of a seen row.
func appendSeenRow(dst []byte, gen uint32, k *store.Key) []byte {
	return append(appendNumbered(dst, tableSeen, gen), k[:]...)
}

// afterNumbered is the first key after all rows of number n in a table.
func afterNumbered(table byte, n uint32) []byte {
	if n == 1<<32-1 {
		return rowBound(table)
	}
	return appendNumbered(nil, table, n+1)
}
