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
// A run is safe for concurrent reading.
package runfile
