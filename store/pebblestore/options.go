package pebblestore

import (
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// Options modify Open. The zero value is fine.
type Options struct {
	// Identity says how the keys are made. Zero fields are taken from the
	// store; a new store is stamped with what is given here. A store made with
	// another identity is refused. The default is that of the store; frontier.StatusNew
	// gives a new store its own.
	Identity store.Identity

	// FS is the file system. The default is the machine's.
	FS vfs.FS
	// ReadOnly opens for reading alone; writes return store.ErrInvalid.
	// The default is false.
	ReadOnly bool
	// MustExist refuses to make a new store. The default is false.
	MustExist bool
	// Repair lets a store open whose counts differ from its rows: the rows are
	// taken as true. The default refuses, with store.ErrCorrupt.
	Repair bool
	// Clock tells the time. The default is time.Now.
	Clock store.Clock
	// monotonic stands in for a clock that is never set; for tests.
	monotonic func() time.Duration

	// KeepURLs keeps the text of completed and dropped URLs, so that they can be
	// listed and a duplicate's first-seen URL returned. The default is to keep keys
	// only.
	KeepURLs bool

	// Generation is how long new keys of a crawl go into one generation: the
	// unit, and so the granularity, in which keys are forgotten by age.
	// Negative means for ever. The default is an eighth of the shortest
	// store.Terms.Retention that a user of the store asked for, or 30 days.
	Generation time.Duration

	// IndexBytes is the memory that a fingerprint index of the keys may take, 9.4 to
	// 11 bytes a key. If it fits at open with room for a quarter more, the index
	// answers; otherwise, and from when it outgrows the budget, key runs answer, which
	// are mapped files that the page cache holds. Negative means no index. The default
	// is no bound.
	IndexBytes int64
	// holdFill holds up the filling of the index until it is closed; for tests.
	holdFill chan struct{}
	// flushKeys makes runs of as few packed keys; for tests.
	flushKeys int
	// journalFrom and journalSize are other limits for the journal of queues; for
	// tests.
	journalFrom, journalSize int
	// keptPlaces bounds the journal of places; for tests.
	keptPlaces int
	// Exact verifies in the key runs every key that the index calls a duplicate, which
	// costs a look-up each. The default trusts the index; Store.Index says at what
	// odds.
	Exact bool

	// GroupKeys bounds the keys committed by one sync. The default is 65,536.
	GroupKeys int
	// GroupWait is how long a group waits for more callers before it is
	// written, which saves syncs and costs every caller that time. The default
	// is not to wait: a group is what came while the one before was written.
	GroupWait time.Duration
	// Backlog bounds the steps that wait for the committer; callers beyond it
	// wait outside, where their context can still call them back. The default
	// is 1,024.
	Backlog int

	// Observer is told of every commit. The default is nobody.
	Observer Observer

	// MemTableBytes is the size of Pebble's write buffer; up to 128 MiB of them,
	// and at least four, are in memory while they are flushed. Packed keys that become
	// runs before their buffer is flushed are never written to a table. The
	// default is 32 MiB.
	MemTableBytes int
	// CacheBytes is the size of Pebble's block cache, which its write buffers
	// are charged to. The default is 256 MiB, and at least four write buffers.
	CacheBytes int64
	// TextBytes is the memory for the texts of URLs lately queued or asked for,
	// from which AddOptions.WantFirst is answered; what isn't there is read. It is
	// taken as it is needed, and only where first spellings are asked for; 2 MiB
	// is the least. The table of them takes up to about as much again, 19 MB at
	// most. The default is 64 MiB.
	TextBytes int64
	// TableBytes is the size of the tables on disk. The default is 32 MiB.
	TableBytes int64
	// Compactions bounds how many compactions run at once: one, until tables pile up
	// because more is written than one can put in order. The default is 3, or as many
	// as processors if they are more: with one alone, a crawl of new keys waits.
	Compactions int
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.monotonic == nil {
		began := time.Now()
		o.monotonic = func() time.Duration { return time.Since(began) }
	}
	if o.GroupKeys <= 0 {
		o.GroupKeys = 1 << 16
	}
	if o.Backlog <= 0 {
		o.Backlog = 1024
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = 32 << 20
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = max(256<<20, 4*int64(o.MemTableBytes))
	}
	if o.journalFrom <= 0 {
		o.journalFrom, o.journalSize = journalFrom, journalSize
	}
	if o.keptPlaces <= 0 {
		o.keptPlaces = keptPlaces
	}
	if o.TextBytes == 0 {
		o.TextBytes = 64 << 20
	}
	if o.TableBytes <= 0 {
		o.TableBytes = 32 << 20
	}
	if o.Compactions <= 0 {
		o.Compactions = max(3, runtime.GOMAXPROCS(0))
	}
	return o
}
