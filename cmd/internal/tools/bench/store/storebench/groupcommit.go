package storebench

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/hashkey"
)

// GroupCommit is a seen-set that any program can build on Pebble: each caller looks its key
// up, and writes it with a sync if it is missing. Pebble syncs the writes of callers that wait
// at the same time together.
type GroupCommit struct {
	db *pebble.DB
	// stripes are locks by the first bits of a key. A caller holds that of its key until
	// the write is durable: so one caller gets "new", and a duplicate is durable.
	stripes [1 << 12]sync.Mutex
}

// OpenGroupCommit opens a GroupCommit. Its cache and write buffers have the sizes that
// pebblestore uses by default.
func OpenGroupCommit(dir string, fs vfs.FS) (*GroupCommit, error) {
	opt := &pebble.Options{
		FS:                         fs,
		FormatMajorVersion:         pebble.FormatValueSeparation,
		CacheSize:                  256 << 20,
		MemTableSize:               32 << 20,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, max(3, runtime.GOMAXPROCS(0)) },
		Logger:                     quiet{},
	}
	for i := range opt.Levels {
		opt.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(dir, opt)
	return &GroupCommit{db: db}, err
}

// See implements Engine. A call of many keys, as for loading, takes all locks.
func (g *GroupCommit) See(keys []hashkey.UrlShortHash, fresh []bool) (err error) {
	if len(keys) == 1 {
		lock := &g.stripes[uint16(keys[0][0])<<4|uint16(keys[0][1]>>4)]
		lock.Lock()
		defer lock.Unlock()
		known, err := g.has(&keys[0])
		if fresh[0] = !known; known || err != nil {
			return err
		}
		return g.db.Set(keys[0][:], nil, pebble.Sync)
	}
	for i := range g.stripes {
		g.stripes[i].Lock()
		defer g.stripes[i].Unlock()
	}
	batch := g.db.NewBatch()
	defer func() { err = errors.Join(err, batch.Close()) }()
	for i := range keys {
		known, err := g.has(&keys[i])
		if err != nil {
			return err
		}
		if fresh[i] = !known; known {
			continue
		}
		if err := batch.Set(keys[i][:], nil, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.Sync)
}

func (g *GroupCommit) has(k *hashkey.UrlShortHash) (bool, error) {
	_, c, err := g.db.Get(k[:])
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, c.Close()
}

// Close closes the database.
func (g *GroupCommit) Close() error { return g.db.Close() }

// CPU implements Engine: it runs in this process.
func (*GroupCommit) CPU() time.Duration { return 0 }

// quiet drops Pebble's messages.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	pebble.DefaultLogger.Fatalf(format, args...)
}
