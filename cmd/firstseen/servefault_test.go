package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// TestServeSaysWhatFailed: for each fault of a disk at which the store cannot go on, serve ends with status 3 and says what failed on which
// file, whether the fault comes while it serves or is there when it starts. From its start on it then hands out no lease.
func TestServeSaysWhatFailed(t *testing.T) {
	for _, c := range []struct {
		what string
		kind errorfs.OpKind
		file string // a part of its name
		says string // a part of the name that is reported
	}{
		{"write of a log", errorfs.OpFileWrite, ".log", ".log"},
		{"sync of a log", errorfs.OpFileSyncData, ".log", ".log"},
		{"close of a log", errorfs.OpFileClose, ".log", ".log"},
		{"size of a log that is used again", errorfs.OpFileStat, ".log", ".log"},
		{"use of a log again", errorfs.OpReuseForWrite, ".log", ".log"},
		{"creation of a log", errorfs.OpCreate, ".log", ".log"},
		{"write of a manifest", errorfs.OpFileWrite, "MANIFEST-", "MANIFEST-"},
		{"sync of a manifest", errorfs.OpFileSync, "MANIFEST-", "MANIFEST-"},
		{"creation of a manifest", errorfs.OpCreate, "MANIFEST-", "MANIFEST-"},
		{"creation of options", errorfs.OpCreate, ".dbtmp", ".dbtmp"},
		{"options that cannot be renamed", errorfs.OpRename, ".dbtmp", "OPTIONS"},
		{"creation of a marker", errorfs.OpCreate, "marker.", "marker."},
		{"write of a table", errorfs.OpFileWrite, ".sst", ".sst"},
		{"creation of a table", errorfs.OpCreate, ".sst", ".sst"},
		{"write of the note", errorfs.OpFileWrite, "firstseen.store", "firstseen.store"},
		{"rename of the note", errorfs.OpRename, "firstseen.store", "firstseen.store"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var broken, met atomic.Bool
			faults := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if broken.Load() && op.Kind == c.kind && strings.Contains(op.Path, c.file) {
					met.Store(true)
					return syscall.EIO
				}
				return nil
			})
			disk := logFaults{errorfs.Wrap(vfs.Default, faults), faults}
			db := filepath.Join(t.TempDir(), "db")
			times := 0
			for _, fromStart := range []bool{false, true} {
				broken.Store(fromStart)
				met.Store(false)
				d := serveOn(t, disk, db)
				leases := d.lease()
				broken.Store(true)
				for n := 0; !fromStart && n < 40_000 && !met.Load() && d.add(n); n += 1000 {
				}
				if !met.Load() || c.kind == errorfs.OpFileClose {
					d.stop()
				}
				got := <-d.status
				want := statusOK
				if met.Load() {
					times++
					want = statusFailed
				}
				if got != want {
					t.Errorf("from the start %v, met %v: got status %d; want %d:\n%s", fromStart, met.Load(), got, want, d.log)
				}
				said := d.log.String()
				if met.Load() && !(strings.Contains(said, c.says) && strings.Contains(said, syscall.EIO.Error())) {
					t.Errorf("from the start %v: got no name of a file with %q:\n%s", fromStart, c.says, said)
				}
				if fromStart && met.Load() && leases > 0 {
					t.Errorf("it handed out %d leases before it failed", leases)
				}
			}
			if times == 0 {
				t.Error("the fault was never met")
			}
		})
	}
}

// logFaults has faults of logs that errorfs does not inject: of their close, and of their size when they are used again.
type logFaults struct {
	vfs.FS
	faults errorfs.Injector
}

func (fs logFaults) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return logFile{f, name, fs.faults}, err
}

func (fs logFaults) ReuseForWrite(oldName, newName string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldName, newName, c)
	return logFile{f, newName, fs.faults}, err
}

type logFile struct {
	vfs.File
	name   string
	faults errorfs.Injector
}

func (f logFile) Stat() (vfs.FileInfo, error) {
	if err := f.faults.MaybeError(errorfs.Op{Kind: errorfs.OpFileStat, Path: f.name}); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f logFile) Close() error {
	return errors.Join(f.faults.MaybeError(errorfs.Op{Kind: errorfs.OpFileClose, Path: f.name}), f.File.Close())
}

// ownDaemon is a daemon in the process of the test.
type ownDaemon struct {
	t      *testing.T
	http   string
	log    *logTail
	stop   context.CancelFunc
	status chan int
}

// serveOn runs serve on a disk, and returns when it serves or has ended.
func serveOn(t *testing.T, disk vfs.FS, db string) *ownDaemon {
	t.Helper()
	addrs, release, err := freeport.Take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	ctx, cancel := context.WithCancel(t.Context())
	d := &ownDaemon{t: t, http: "http://" + addrs[1], log: &logTail{}, stop: cancel, status: make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a := &app{in: strings.NewReader(""), out: io.Discard, err: d.log, store: pebblestore.Options{FS: disk}}
		root := newRootCmd(a)
		root.SetArgs([]string{"serve", "--db", db, "--grpc", addrs[0], "--http", addrs[1], "--min-free", "-1", "--captures", "0", "--write-buffers", "4", "--delay", "0"})
		cmd, err := root.ExecuteContextC(ctx)
		d.status <- a.status(cmd, err)
	}()
	hang.Until(t, "that serve serves or has ended", func() bool {
		if async.Closed(ended) {
			return true
		}
		answer, err := http.Get(d.http + "/readyz")
		if err == nil {
			_ = answer.Body.Close() // its status is all
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	return d
}

// lease returns how many URLs the daemon leases.
func (d *ownDaemon) lease() int {
	answer, err := http.Post(d.http+"/v1/lease", "application/json", strings.NewReader(`{"max":10}`))
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		d.t.Error(err)
	}
	return bytes.Count(text, []byte(`"token"`))
}

// add adds 1,000 URLs from a number on, and reports whether they were added.
func (d *ownDaemon) add(n int) bool {
	var body bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&body, "{\"url\":\"http://h%d.example/%d\"}\n", i%10, n+i)
	}
	answer, err := http.Post(d.http+"/v1/urls?brief", "application/x-ndjson", &body)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return err == nil && bytes.Count(text, []byte(`"verdict":"new"`)) == 1000
}
