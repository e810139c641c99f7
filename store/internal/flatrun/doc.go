// Package flatrun keeps sorted keys in files that are mapped into memory, and
// answers "is this key there?" in some tenths of a microsecond, exactly, for
// 4 bits a key of index.
//
// # The idea
//
// Keys are hashes, so they are spread evenly: the first eight bytes of a key,
// taken as a fraction, say which of n/16 buckets it is in, and no tree is needed
// to find it. A file is the keys in ascending order, 16 bytes each, and then for
// each bucket where its keys end. A look-up reads one word of the index and one
// bucket of some 16 keys.
//
// # What memory is
//
// The file is mapped, so what of it is in memory is in the page cache: it counts
// in the resident size of the process, and yet the system takes it back when it
// has better use for it, and reads it again from the disk. Where files can't be
// mapped (Windows, a file system in memory) it is read into memory whole.
//
// # Damage
//
// A page that is read again may come back with other bytes, months after the
// file was opened. So the index has the checksum of each bucket, and each look-up
// compares it: that costs less than the cache misses before it, and makes opening
// a file a matter of its last 64 bytes. What doesn't agree is [ErrDamaged], as is
// a page that can't be read at all. The files are copies of what is elsewhere, and
// are made anew then.
//
// A run is safe for concurrent reading.
package flatrun
