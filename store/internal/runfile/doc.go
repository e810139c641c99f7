// Package runfile keeps sorted keys in files that are mapped into memory, and reports exactly whether a
// key is in them, in less than a microsecond while the pages are in memory.
//
// # The idea
//
// Keys are hashes, so they are evenly distributed. The first eight bytes of a key, read as a fraction,
// select one of n/20 buckets, so no tree is needed. A run has its keys in ascending order, 16
// bytes each, and an entry of 32 bytes for each bucket, 1.6 bytes a key: the place of its keys, and a small
// Bloom filter. Usually a look-up of an unknown key reads only the entry. Other look-ups also read the
// bucket. A file can contain many runs, so that many small runs need few files.
//
// # Memory
//
// The file is mapped, so its pages are in the page cache. They count in the resident size of the
// process, but the system can evict them. If files cannot be mapped (on Windows, or a file system in
// memory), the file is read into memory.
//
// # Damage
//
// A disk can return other bytes for a page months after the file was opened. So entries and buckets have
// checksums, and every look-up compares them; this costs less than the cache misses before it. Opening a
// file reads its last 64 bytes. Opening a run reads a table of 8 bytes for 80,000 keys. A damaged
// or unreadable page is [ErrDamaged]; the error names the file.
//
// # The bytes of a file
//
// A number after a name is its length in bytes; numbers are big-endian. The sections, one for each run, are in no order:
//
//	section  pages of 4,096 buckets, the last may have fewer, each
//	             keys 16, ascending
//	             for each bucket: number of keys in the page before it 4 | sum of its keys 4 | filter 20 | sum of the 28 bytes before 4
//	         if there are several pages: for each but the first, number of keys in the section before it 8; then their sum 4
//	foot     "runfile4" 8 | id 16 | length of all sections 8 | 28 zeros | CRC-32C of the 60 bytes before 4
//
// A [Place] has the offset of a section, the number n of its keys and m of its buckets (about n/20 + 1). The bucket of a key is its
// first 8 bytes times m, divided by 2^64. A filter is a Bloom filter of 160 bits: the last 8 bytes of a key are four 16-bit
// numbers x, each of which sets bit x × 160 / 65,536 (bit i is bit i%8 of byte i/8).
//
// A sum is a CRC-32C that begins with s + b × 0x9e3779b1, where s is the CRC-32C of id 16 | generation 4 | offset 8 | buckets 8 of the
// section, and b the bucket (2^32 - 1 for the table of pages): it also covers where something belongs. A damaged foot or table of
// pages does no harm, since the pages are found by their entries.
//
// A run is safe for concurrent reading.
package runfile
