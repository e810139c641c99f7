package storebench

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// LogSyncs is a file system that measures the syncs of Pebble's logs. It is safe for concurrent use.
type LogSyncs struct {
	vfs.FS

	last atomic.Pointer[timeSpan] // the last sync that has ended
}

type timeSpan struct{ start, end time.Time }

// Create implements vfs.FS.
func (s *LogSyncs) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	return s.watch(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (s *LogSyncs) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.ReuseForWrite(from, to, c)
	return s.watch(to, f, err)
}

func (s *LogSyncs) watch(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return logFile{f, s}, nil
}

// of returns how much of a call, from start to end, passed in the last sync: the one that made the call durable. It
// leaves out the syncs of earlier groups, which the call may have waited for as well.
func (s *LogSyncs) of(start, end time.Time) time.Duration {
	last := s.last.Load()
	if last == nil {
		return 0
	}
	from, to := last.start, last.end
	if from.Before(start) {
		from = start
	}
	if to.After(end) { // another one ended since
		to = end
	}
	return max(0, to.Sub(from))
}

// logFile is a log of Pebble.
type logFile struct {
	vfs.File
	to *LogSyncs
}

func (f logFile) measured(sync func() error) error {
	start := time.Now()
	err := sync()
	f.to.last.Store(&timeSpan{start, time.Now()})
	return err
}

// Sync implements vfs.File.
func (f logFile) Sync() error { return f.measured(f.File.Sync) }

// SyncData implements vfs.File.
func (f logFile) SyncData() error { return f.measured(f.File.SyncData) }
