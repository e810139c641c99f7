package pebblestore

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Options modify Open. The zero value is fine.
type Options struct {
	// FS is the file system. The default is the machine's.
	FS vfs.FS
	// Mode is what Open may do to the directory. The default is OpenOrCreate.
	Mode Mode
	// Clock returns the time. The default is time.Now.
	Clock store.Clock

	// KeepURLs keeps the text of completed and dropped URLs, so that they can be
	// listed and a duplicate's first-seen URL returned. The default is to keep keys
	// only.
	KeepURLs bool

	// AlsoSeen are key files, as Export writes them, whose keys count as seen: See and Add
	// call them duplicates, Verdict.SeenIn names the file, and Lookup reports them as
	// SeenOnly. They are mapped, and never written. They are not in Stats, Keys, exports and
	// imports, and Settle and Forget ignore them. Item.Force overrides them:
	// such an item is added as if no file had its key. If the keys of a file are made in another
	// way, Open or Prepare returns store.ErrIdentity.
	AlsoSeen []AlsoSeen

	// IndexBytes bounds the memory of the fingerprint index of the keys, 9.4 to 13.3 bytes a key from a million keys on, and several
	// times as much for fewer. The index answers while it is within the bound; from when it outgrows it, key runs answer, which are mapped files that the
	// page cache holds. An index that was within the bound is filled again after Open. Negative means no index. The default is no
	// bound.
	IndexBytes int64
	// Exact verifies in the key runs every key that the index calls a duplicate, which
	// costs a look-up each. The default trusts the index; Store.Index reports the expected
	// number of errors.
	Exact bool

	// CacheBytes is the memory of the cache of blocks of tables: rows, and the filters and indexes that lead to them.
	// The default is 128 MiB.
	CacheBytes int64
	// BufferBytes is the memory of write buffers: one that takes rows, and one that is being written to a table.
	// From half of it on rows are flushed, so that an Open after a kill replays no more. The default is 128 MiB,
	// and the least is 256 KiB.
	BufferBytes int64

	// FreeLeases frees the leases that Open finds, because their fetchers ended with the process before: their URLs are
	// queued again, due immediately, and the tokens are stale. Such a lease is not counted, neither as a failure nor as an expiry, so no restart costs a page; exclude a page that
	// kills the process each time. The default keeps them until they end, for fetchers in other processes, and logs how many there are.
	FreeLeases bool
	// Logger receives what Open finds about leases. The default is slog.Default().
	Logger *slog.Logger

	// OnDamage is called with the first damage that is met in each run file or table, up to a hundred of
	// them. It must return soon. The default is none.
	OnDamage func(error)

	tuning
}

// tuning is what only tests set.
type tuning struct {
	// monotonic stands in for a clock that is never set.
	monotonic func() time.Duration
	// generation is how long new keys of a crawl go into one generation: the unit in
	// which keys are forgotten by age. Negative means for ever. The default is an eighth
	// of the shortest store.Terms.Retention that a user of the store asked for, or 30 days.
	generation time.Duration
	// groupKeys bounds the keys committed by one sync, and backlog the steps that wait
	// for the committer; callers beyond it wait outside, until their context ends.
	groupKeys, backlog int
	// observe is called after every commit.
	observe func(groupInfo)
	// memTableBytes is the size of Pebble's write buffer when it is flushed: a quarter of BufferBytes. Packed keys
	// that become runs before that are never written to a table.
	memTableBytes int
	// noCache leaves no room for blocks of tables.
	noCache bool
	// tableBytes is the size of Pebble's tables.
	tableBytes int64
	// textBytes bounds the memory of the texts that AddOptions.WantFirst is answered from.
	textBytes int64
	// leaseBytes is how many bytes of its URL and metadata a lease keeps in memory.
	leaseBytes int64
	// holdFill holds up the filling of the index until it is closed.
	holdFill chan struct{}
	// flushKeys makes runs of as few packed keys.
	flushKeys int64
	// lagKeys is how many packed keys writes are nearly stopped at, since flushes do not
	// keep up. They are slowed down from half as many on.
	lagKeys int
	// journalFrom, keptStates and keptPlaces are limits of the journals.
	journalFrom, keptStates, keptPlaces int
	// marks bounds the marked keys.
	marks int
	// format is the format that is read and written, and upgrades lead to it.
	format   uint32
	upgrades map[uint32]upgrade
	// locked is set by Open when it has locked the directory.
	locked bool
}

// Mode is what [Open] may do.
type Mode int

const (
	// OpenOrCreate creates the store if it does not exist, also in a directory that has other files.
	OpenOrCreate Mode = iota
	// OpenExisting returns store.ErrNotFound if the store does not exist.
	OpenExisting
	// OpenReadOnly is OpenExisting for reading alone: writes return store.ErrInvalid.
	OpenReadOnly
	// OpenRepair is OpenExisting, also for a store whose counts differ from its rows or
	// whose log is damaged: it corrects the counts, and cuts the log before the damage, so
	// that what was recorded later is lost. Report.Repaired has what it did. The other modes
	// return store.ErrCorrupt for such a store.
	OpenRepair
)

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 128 << 20
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = 128 << 20
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	t := &o.tuning
	if t.monotonic == nil {
		began := time.Now()
		t.monotonic = func() time.Duration { return time.Since(began) }
	}
	t.groupKeys = cmp.Or(t.groupKeys, 1<<16)
	t.backlog = cmp.Or(t.backlog, 1024)
	t.memTableBytes = cmp.Or(t.memTableBytes, int(min(max(o.BufferBytes/4, 64<<10), 32<<20)))
	t.tableBytes = cmp.Or(t.tableBytes, 32<<20)
	t.textBytes = cmp.Or(t.textBytes, 80<<20)
	t.leaseBytes = cmp.Or(t.leaseBytes, 1<<10)
	t.flushKeys = cmp.Or(t.flushKeys, flushKeys)
	t.lagKeys = cmp.Or(t.lagKeys, lagKeys)
	t.journalFrom, t.marks = cmp.Or(t.journalFrom, journalFrom), cmp.Or(t.marks, sched.MostMarks)
	t.keptStates, t.keptPlaces = cmp.Or(t.keptStates, keptStates), cmp.Or(t.keptPlaces, keptPlaces)
	if t.format == 0 {
		t.format, t.upgrades = formatVersion, upgrades
	}
	return o
}
