// Package runfile keeps sorted keys in files that are mapped into memory, and
// answers "is this key there?" in some tenths of a microsecond, exactly, for
// 4 bits a key of index.
//
// # The idea
//
// Keys are hashes, so they are spread evenly: the first eight bytes of a key,
// taken as a fraction, select one of n/16 buckets, and no tree is needed
// to find it. A run is the keys in ascending order, 16 bytes each, and then for
// each bucket where its keys end. A look-up reads one word of the index and one
// bucket of about 16 keys. A file has one run or many, so that many small runs
// need few files.
//
// # Memory
//
// The file is mapped, so its pages are in the page cache: they count in the
// resident size of the process, and the system still evicts them when it needs
// memory. Where files cannot be mapped (Windows, a file system in memory) the
// file is read into memory whole.
//
// # Damage
//
// A page that is read again may have other bytes, months after the file was
// opened. So the index has the checksum of each bucket, and every look-up
// compares it, which costs less than the cache misses before it. Opening a file
// reads its last 64 bytes only. Bytes that differ from what was written are
// [ErrDamaged], and so is a page that cannot be read. The error names the file.
//
// A run is safe for concurrent reading.
package runfile
