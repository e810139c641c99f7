package pebblestore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// health is whether the store has failed: then every call returns ErrFailed. It fails if Pebble
// cannot write the log or manifest (see watchFS), or tables: Pebble writes these again without
// end, while writers wait for room. After some failures in a row it is enough.
type health struct {
	once, onceStuck, onceParked sync.Once
	err                         error         // why the store has failed
	dead                        chan struct{} // closed once err is set
	stuck                       chan struct{} // closed if a goroutine of Pebble will never go on, nor release its locks
	parked                      chan struct{} // closed if a compaction met damage, and never ends
	misses                      atomic.Int64  // background failures in a row

	// compactions is how many Pebble may run: none while Open loads.
	compactions atomic.Int32

	stalls stalls
	damage runDamage // that was met
}

// maxMisses is how many background failures in a row are one too many.
const maxMisses = 20

// retryPause is the time after which Pebble tries again what failed in the background. Left
// alone, it tries without a pause. A failed flush holds Pebble's lock in the meantime, so the
// pause is short.
const retryPause = 5 * time.Millisecond

func newHealth() *health {
	return &health{dead: make(chan struct{}), stuck: make(chan struct{}), parked: make(chan struct{})}
}

// failure returns the first error that die got, or nil.
func (h *health) failure() error {
	if h.isDead() {
		return h.err
	}
	return nil
}

// die makes err the answer to every call, from before it returns.
func (h *health) die(err error) {
	h.once.Do(func() {
		text := "the store failed; open it again when the disk can be written: %w"
		if err = corruption(err); errors.Is(err, store.ErrCorrupt) {
			text = "the store failed: %w"
		}
		h.err = fault.As(store.ErrFailed, text, err)
		close(h.dead)
	})
}

func (h *health) isDead() bool { return async.Closed(h.dead) }

// rlock takes s.mu for reading, unless the store is not usable: after a failure, the state may be
// ahead of the disk.
func (s *Store) rlock() error { return s.lockUsable(s.mu.RLocker()) }

// lock is rlock for writing, by others than the committer.
func (s *Store) lock() error { return s.lockUsable(&s.mu) }

func (s *Store) lockUsable(mu sync.Locker) error {
	if err := s.usable(); err != nil { // the lock may never be free
		return err
	}
	mu.Lock()
	err := s.usable()
	if err != nil {
		mu.Unlock()
	}
	return err
}

// pebbleLog is the pebble.Logger.
type pebbleLog struct{ h *health }

// Infof and Errorf drop Pebble's talk.
func (pebbleLog) Infof(string, ...any)  {}
func (pebbleLog) Errorf(string, ...any) {}

// Fatalf must not return. Pebble calls it if it cannot go on, as with a table that was cut since Open; watchFS
// does not return the errors of writes for which it would. A panic would end the process of the user, from a
// goroutine that nobody can guard. So the store fails, and the goroutine stays where it is, with the locks that it
// holds: Close does not wait for it, and does not close Pebble.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.h.die(fmt.Errorf(format, args...))
	l.h.stick()
	select {}
}

func (h *health) stick() { h.onceStuck.Do(func() { close(h.stuck) }) }

// met is called by the goroutine of Pebble that met damage, before it gets the error. A compaction would panic with it
// if the damaged block has rows below a single delete. So it is held here for good: its tables are not compacted again,
// and the others are. It holds no lock; Close does not wait for it, and does not close Pebble.
func (h *health) met(i pebble.DataCorruptionInfo) {
	h.damage.note(i.Path, corruptionOf(&i))
	if inCompaction() {
		h.onceParked.Do(func() { close(h.parked) })
		select {}
	}
}

// inCompaction reports whether a compaction of Pebble calls.
func inCompaction() bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/internal/compact.(*") {
			return true
		}
		if !more {
			return false
		}
	}
}

func (h *health) listener() *pebble.EventListener {
	wrote := func(err error) {
		switch {
		case err == nil:
			h.misses.Store(0)
		case pebble.IsCorruptionError(err): // other tables can be compacted
			h.damage.note(pathOf(err), corruption(err))
		case !errors.Is(err, pebble.ErrCancelledCompaction) && h.misses.Add(1) >= maxMisses:
			h.die(fmt.Errorf("cannot write tables, tried %d times: %w", maxMisses, err))
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(error) { time.Sleep(retryPause) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { h.stalls.begin() },
		WriteStallEnd:   h.stalls.end,
		DataCorruption:  h.met,
		FlushEnd:        func(i pebble.FlushInfo) { wrote(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { wrote(i.Err) },
	}
}
