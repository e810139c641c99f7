// Package runfile keeps sorted keys in files that are mapped into memory, and
// reports exactly whether a key is there, in some tenths of a microsecond.
//
// # The idea
//
// Keys are hashes, so they are spread evenly: the first eight bytes of a key,
// taken as a fraction, select one of n/20 buckets, and no tree is needed
// to find it. A run is the keys in ascending order, 16 bytes each, with an entry of 32
// bytes for each bucket, 1.6 bytes a key: where its keys begin, and a small Bloom filter. A
// look-up of a key that is not there reads that entry alone, as a rule; any other one
// reads the bucket, too. A file has one run or many, so that many small runs need
// few files.
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
// opened. So entries and buckets have checksums, which every look-up
// compares: that costs less than the cache misses before it. Opening a file
// reads its last 64 bytes, and opening a run a table of 8 bytes for 80,000 keys. Bytes that differ from what was written are
// [ErrDamaged], and so is a page that cannot be read. The error names the file.
//
// A run is safe for concurrent reading.
package runfile
