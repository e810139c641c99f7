package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// A log may be damaged before its end. Pebble then refuses to open: a later record has the
// offset up to which the log was synced, which proves that acknowledged records are lost.
// OpenRepair cuts such a log before the damage, so that the store is as it was then, and
// puts the damaged log and those after it aside.

// logDamage is where a log is damaged.
type logDamage struct {
	fs       vfs.FS
	dir      string
	logs     wal.Logs
	num      wal.NumWAL // of the damaged log
	at, size int64      // the bytes before the damage, and all
}

// findLogDamage finds the damage that Pebble refused to open for, nil if that was another
// error. Pebble names the log: others may be damaged without effect, as it needs them no more.
func findLogDamage(dir string, fs vfs.FS, refused error) *logDamage {
	_, text, _ := strings.Cut(fmt.Sprintf("%+v", refused), "replaying wal ")
	var num uint64
	if _, err := fmt.Sscanf(text, "%d,", &num); err != nil {
		return nil
	}
	d := &logDamage{fs: fs, dir: dir, num: wal.NumWAL(num)}
	var err error
	if d.logs, err = wal.Scan(wal.Dir{FS: fs, Dirname: dir}); err != nil {
		return nil
	}
	log, ok := d.logs.Get(d.num)
	info, err := fs.Stat(d.path(d.num))
	if !ok || err != nil {
		return nil
	}
	d.size = info.Size()
	r := log.OpenForRead()
	for err == nil {
		var at wal.Offset
		_, at, err = r.NextRecord()
		d.at = at.Physical
	}
	if !record.IsInvalidRecord(err) || r.Close() != nil {
		return nil
	}
	return d
}

func (d *logDamage) path(num wal.NumWAL) string {
	return d.fs.PathJoin(d.dir, fmt.Sprintf("%06d.log", uint64(num)))
}

// aside returns the path that a log is kept at.
func (d *logDamage) aside(num wal.NumWAL) string {
	return d.fs.PathJoin(d.dir, fmt.Sprintf("damaged-%06d.log", uint64(num)))
}

// Error describes the damage and what to do.
func (d *logDamage) Error() string {
	return d.where() + ", and acknowledged records follow: restore a copy of the directory or import an export; " +
		"or lose what was recorded after the damage with OpenRepair (firstseen verify --repair)"
}

func (d *logDamage) where() string {
	return fmt.Sprintf("log %s is damaged after %d of %d bytes", d.path(d.num), d.at, d.size)
}

// repaired describes what cut did.
func (d *logDamage) repaired() string {
	return d.where() + ": it was cut there, and what was recorded later is lost; the damaged log and those after it are kept as damaged-*.log"
}

// cut cuts the log before the damage. A power cut in the meantime leaves a log that is still
// refused, or one that is the last, cut or not: Pebble ends at its damage. So the later logs
// must be put aside before the damaged one is cut.
func (d *logDamage) cut() error {
	part := d.fs.PathJoin(d.dir, "repair.tmp")
	if err := vfs.LimitedCopy(d.fs, d.path(d.num), part, d.at); err != nil {
		return err
	}
	for _, l := range slices.Backward(d.logs) {
		if l.Num <= d.num {
			break
		}
		if err := errors.Join(d.fs.Rename(d.path(l.Num), d.aside(l.Num)), syncDir(d.fs, d.dir)); err != nil {
			return err
		}
	}
	if err := d.fs.Remove(d.aside(d.num)); err != nil && !errors.Is(err, os.ErrNotExist) { // of a repair that was cut off
		return err
	}
	if err := vfs.LinkOrCopy(d.fs, d.path(d.num), d.aside(d.num)); err != nil {
		return err
	}
	return errors.Join(d.fs.Rename(part, d.path(d.num)), syncDir(d.fs, d.dir))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
