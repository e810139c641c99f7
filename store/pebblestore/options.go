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

	// IndexBytes bounds the memory of the fingerprint index of the keys: 9.4 to 13.3 bytes a key from a million keys on, several
	// times as much for fewer. Once the index outgrows the bound, key runs answer instead, which are mapped files in
	// the page cache. Open fills an index again that was within the bound. Negative means no index. The default is no
	// bound.
	IndexBytes int64
	// Exact verifies in the key runs every key that the index calls a duplicate, which
	// costs a look-up each. The default trusts the index; Store.Index reports the expected
	// number of errors.
	Exact bool

	// CacheBytes is the memory of the block cache: rows, and the filters and indexes that lead to them.
	// The default is 128 MiB.
	CacheBytes int64
	// BufferBytes is the memory of the write buffers: one that takes rows, and one that is being written to a table.
	// Rows are flushed once they take half of it, which bounds the replay after a kill. The default is 128 MiB,
	// the minimum 256 KiB.
	BufferBytes int64

	// FreeLeases frees the leases that Open finds, because their fetchers ended with the previous process: their URLs are
	// queued again, due immediately, and the tokens are stale. Such leases count neither as failures nor as expiries, so no restart costs a page; exclude a page that
	// kills the process each time. The default keeps them until they end, for fetchers in other processes, and logs their number.
	FreeLeases bool
	// Logger receives the leases that Open finds. The default is slog.Default().
	Logger *slog.Logger

	// OnDamage is called with the first damage found in each run file or table, for up to a hundred
	// files. It must return soon. The default is none.
	OnDamage func(error)

	tuning
}

// tuning is what only tests set.
type tuning struct {
	// monotonic replaces the monotonic clock.
	monotonic func() time.Duration
	// generation is how long new keys of a crawl go into one generation: the unit in
	// which keys are forgotten by age. Negative means forever. The default is an eighth
	// of the shortest store.Terms.Retention that a user of the store requested, or 30 days.
	generation time.Duration
	// groupKeys bounds the keys committed by one sync, and backlog the steps that wait
	// for the committer; further callers wait outside, until their context ends.
	groupKeys, backlog int
	// observe is called after every commit.
	observe func(groupInfo)
	// memTableBytes is the size at which Pebble's write buffer is flushed: a quarter of BufferBytes. Packed keys
	// that become runs before that are never written to a table.
	memTableBytes int
	// noCache leaves no room for blocks of tables.
	noCache bool
	// tableBytes is the size of Pebble's tables.
	tableBytes int64
	// textBytes bounds the memory of the texts that answer AddOptions.WantFirst.
	textBytes int64
	// leaseBytes is how many bytes of its URL and metadata a lease keeps in memory.
	leaseBytes int64
	// holdFill holds up the filling of the index, and the loading of queues that Open left, until it is closed.
	holdFill chan struct{}
	// flushKeys is the number of packed keys from which runs are made.
	flushKeys int64
	// lagKeys is the number of packed keys at which writes are nearly stopped, since flushes do
	// not keep up. They are slowed down from half as many on.
	lagKeys int
	// journalFrom, keptStates and keptPlaces are limits of the journals.
	journalFrom, keptStates, keptPlaces int
	// openQueues bounds the rows of queues that Open reads before it returns.
	openQueues int
	// marks bounds the marked keys.
	marks int
	// format is the format that is read and written; upgrades lead to it.
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
	// OpenReadOnly is OpenExisting for reading only: writes return store.ErrInvalid.
	OpenReadOnly
	// OpenRepair is OpenExisting, also for a store whose counts differ from its rows or
	// whose log is damaged: it corrects the counts, and cuts the log before the damage; later
	// records are lost. Report.Repaired lists its repairs. The other modes
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
	t.openQueues = cmp.Or(t.openQueues, 1<<14)
	t.keptStates, t.keptPlaces = cmp.Or(t.keptStates, keptStates), cmp.Or(t.keptPlaces, keptPlaces)
	if t.format == 0 {
		t.format, t.upgrades = formatVersion, upgrades
	}
	return o
}
