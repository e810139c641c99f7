package pebblestore

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// pebbleFormat is the version of Pebble's own files. A store that was opened with a later one
// can't be opened with an earlier one, so it is raised here and nowhere else: not by an
// upgrade of Pebble.
const pebbleFormat = pebble.FormatValueSeparation

// pebbleOptions are Pebble's options for ours.
func pebbleOptions(dir string, opt Options, h *health, n *noteKeeper) *pebble.Options {
	o := &pebble.Options{
		FS:                 newWatchFS(dir, opt, h, n),
		ReadOnly:           opt.Mode == OpenReadOnly,
		ErrorIfNotExists:   opt.Mode != OpenOrCreate,
		FormatMajorVersion: pebbleFormat,
		Logger:             pebbleLog{h},
		EventListener:      h.listener(),
		MemTableSize:       2 * uint64(opt.memTableBytes), // from half of that on, its Open flushes them
		// Pebble takes its write buffers, two as a rule, out of its cache. With no more than that there
		// would be no cache: then each read of a row reads the filters of the tables again.
		CacheSize: opt.CacheBytes + 2*2*int64(opt.memTableBytes),
		// Open asks for none: it needs the processors, and Pebble's own Open waits for those that it began.
		CompactionConcurrencyRange: func() (lower, upper int) {
			return int(h.compactions.Load()), max(3, runtime.GOMAXPROCS(0))
		},
	}
	if opt.noCache {
		o.CacheSize = 1
	}
	// Pebble begins no further ones by itself: see newPace.
	o.Experimental.L0CompactionConcurrency, o.Experimental.CompactionDebtConcurrency = math.MaxInt, math.MaxInt
	o.Experimental.CompactionGarbageFractionForMaxConcurrency = func() float64 { return 0 }
	o.MemTableStopWritesThreshold = min(max(4, (128<<20)/opt.memTableBytes), 16)
	// Every write buffer becomes a table in L0. Eight of them go down together (two by default), so that the level
	// below is rewritten less often.
	o.L0CompactionThreshold = 16
	o.L0StopWritesThreshold = math.MaxInt // pace stops writes, which the failure of the store ends
	for i := range o.Levels {
		o.TargetFileSizes[i] = opt.tableBytes
		o.Levels[i].BlockSize = 16 << 10
		// Stronger compression saves a seventh of the disk, and costs the fetch cycle a quarter of its time.
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	// What is in L0 is soon written again: a twentieth of what a discovered URL costs would go into compressing it.
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	o.Levels[len(o.Levels)-1].FilterPolicy = pebble.NoFilterPolicy // most looked-up keys exist
	return o
}

// tableOf finds the number of the table in an error of Pebble about one that is missing or has another size.
var tableOf = regexp.MustCompile(`^L[0-9]: ([0-9]{6,}): `)

// openError converts an error of pebble.Open to one of this package.
func openError(dir string, fs vfs.FS, err error) error {
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		err = fault.As(errors.Join(store.ErrNotFound, err), "the directory has no store")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES), err.Error() == "lock held by current process":
		err = fault.As(err, "%w", store.ErrLocked)
	case foreignFormat(dir, fs):
		err = fault.As(store.ErrFormat, "it has another format: %w", err)
	case tableOf.MatchString(err.Error()) && (errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "size mismatch")):
		path := fs.PathJoin(dir, tableOf.FindStringSubmatch(err.Error())[1]+".sst")
		err = fault.As(errors.Join(store.ErrCorrupt, err), "table %s is missing or was cut (%s); put it back, restore a copy of the directory or import an export", path, firstLine(err))
	default:
		err = corruption(err)
		if failed := (*os.PathError)(nil); errors.As(err, &failed) && !errors.Is(err, store.ErrCorrupt) {
			err = fault.As(err, "%w", failed) // without what Pebble says around it
		}
	}
	return fmt.Errorf("cannot open store %s: %w", dir, err)
}

// corruption makes an error of Pebble about damaged files one that names the file, with advice.
func corruption(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fault.As(err, "%w", corruptionOf(info))
	}
	return fault.As(errors.Join(store.ErrCorrupt, err), "%s; %s", firstLine(err), adviceDamaged)
}

const adviceDamaged = "the disk returned other bytes than were written: check it, then restore a copy of the directory or import an export"

func corruptionOf(info *pebble.DataCorruptionInfo) error {
	return fault.As(store.ErrCorrupt, "file %s is damaged (%s); %s", info.Path, firstLine(info.Details), adviceDamaged)
}

// pathOf returns the file that an error of damage is about, "" if it names none.
func pathOf(err error) string {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return info.Path
	}
	return ""
}

// firstLine returns what an error of Pebble says: further lines repeat it.
func firstLine(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "\n")
	return strings.TrimPrefix(text, "pebble: ")
}

// foreignFormat reports whether the database in dir is in a version of Pebble's own format that this
// program can't read, newer or too old. Pebble's error for one has nothing but a text to know it by.
func foreignFormat(dir string, fs vfs.FS) bool {
	text, err := atomicfs.ReadMarker(fs, dir, "format-version")
	version, bad := strconv.ParseUint(text, 10, 64)
	return err == nil && bad == nil && (version > uint64(pebble.FormatNewest) || version < uint64(pebble.FormatMinSupported))
}
