package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logDamage is where the logs lose acknowledged changes. OpenRepair cuts them there, so that the store is
// as it was then, and puts the damaged log and those after it aside.
type logDamage struct {
	c       *contents
	n       *note
	minLog  uint64 // the first log that is needed
	num     uint64 // the damaged log
	missing bool   // there is none of that number
	gap     bool   // the log before it lacks its end
	stale   bool   // the note is older than the log
	scan    logScan
	kept    uint64 // the last change before the damage
}

// checkLogs returns where the logs that are needed lose acknowledged changes, nil if nowhere. Otherwise it
// sets n.acked to the last change that they have.
func (c *contents) checkLogs(n *note, minLog uint64) (*logDamage, error) {
	from := map[uint64]uint64{}
	var nums []uint64
	for _, l := range n.logs {
		if l.num >= minLog {
			nums, from[l.num] = append(nums, l.num), l.from
		}
	}
	for _, name := range c.names {
		if num := logNumber(name); num >= max(1, minLog) && from[num] == 0 {
			nums = append(nums, num)
		}
	}
	slices.Sort(nums)
	d := &logDamage{c: c, n: n, minLog: minLog}
	claim := n.acked
	noted := false
	for i, num := range nums {
		d.num, d.scan = num, logScan{num: num}
		if d.missing = !c.has(logName(num)); d.missing {
			return d, nil
		}
		var err error
		if d.scan, err = scanLog(c.fs, c.dir, num); err != nil {
			return nil, err
		}
		if from[num] > 0 {
			if noted = true; i == 0 {
				d.kept = from[num] - 1
			}
			d.gap = from[num]-1 > d.kept
		} else if d.stale = d.scan.first+d.scan.claim > 0; d.stale { // it was begun, and noted, before it had a record
			return d, nil
		}
		if s := &d.scan; s.first > 0 || d.gap {
			if d.gap = d.gap || i > 0 && s.first != d.kept+1; d.gap {
				s.end = 0
				return d, nil
			}
			d.kept = s.last
		}
		claim = max(claim, d.scan.claim)
		if d.scan.proven || d.scan.torn && i < len(nums)-1 {
			return d, nil
		}
	}
	if noted && claim > d.kept { // otherwise all that was acknowledged is in tables
		return d, nil
	}
	n.acked = max(claim, d.kept)
	return nil, nil
}

func (d *logDamage) path(num uint64) string { return d.c.fs.PathJoin(d.c.dir, logName(num)) }

// aside returns the path that a log is kept at.
func (d *logDamage) aside(num uint64) string {
	return d.c.fs.PathJoin(d.c.dir, "damaged-"+logName(num))
}

// Error describes the damage and what to do.
func (d *logDamage) Error() string {
	if d.stale {
		return fmt.Sprintf("%s is an older copy, without log %s; nothing was changed: put the newest one back, %v",
			d.c.fs.PathJoin(d.c.dir, noteName), d.path(d.num), errNote)
	}
	return d.where() + ", and acknowledged records are lost with it; nothing was changed: put the log back, restore a copy of the directory or import an export; " +
		"or lose what was recorded after the damage with OpenRepair (firstseen verify --repair)"
}

func (d *logDamage) where() string {
	switch {
	case d.missing:
		return fmt.Sprintf("log %s is missing", d.path(d.num))
	case d.gap:
		return fmt.Sprintf("the log before %s lacks its end", d.path(d.num))
	case d.scan.torn || d.scan.end < d.scan.size:
		return fmt.Sprintf("log %s is damaged after %d of %d bytes", d.path(d.num), d.scan.end, d.scan.size)
	}
	return fmt.Sprintf("log %s ends after %d bytes", d.path(d.num), d.scan.size)
}

// repaired describes what repair did.
func (d *logDamage) repaired() string {
	if d.stale {
		return noteName + " was an older copy: it was made again"
	}
	return d.where() + ": what was recorded later is lost; the damaged log and those after it are kept as damaged-*.log"
}

// repair cuts the log before the damage. A power cut in the meantime leaves a store that is still refused:
// the note names what is missing until it is written, at last.
func (d *logDamage) repair(format uint32) error {
	fs, dir := d.c.fs, d.c.dir
	if d.stale {
		return renote(d.c, format)
	}
	part, whole := fs.PathJoin(dir, "repair.tmp"), !d.missing && !d.gap // a log after a gap goes as those after it do
	if whole {
		if err := vfs.LimitedCopy(fs, d.path(d.num), part, d.scan.end); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(d.c.names) {
		if num := logNumber(name); num > d.num || num == d.num && d.gap {
			if err := errors.Join(fs.Rename(d.path(num), d.aside(num)), syncDir(fs, dir)); err != nil {
				return err
			}
		}
	}
	n := *d.n
	n.acked = d.kept
	n.logs = slices.DeleteFunc(slices.Clone(n.logs), func(l logNote) bool { return l.num > d.num || l.num == d.num && !whole })
	if whole {
		if err := fs.Remove(d.aside(d.num)); err != nil && !errors.Is(err, os.ErrNotExist) { // of a repair that was cut off
			return err
		}
		if err := vfs.LinkOrCopy(fs, d.path(d.num), d.aside(d.num)); err != nil {
			return err
		}
		if err := errors.Join(fs.Rename(part, d.path(d.num)), syncDir(fs, dir)); err != nil {
			return err
		}
	}
	return writeNote(fs, dir, &n)
}

// repair puts right what keeps a store from being opened, and says what it was. If it can't, the error
// is the one that it got.
func repair(dir string, opt *Options, refused error) (text string, err error) {
	var d *logDamage
	switch {
	case errors.As(refused, &d):
		text, err = d.repaired(), d.repair(opt.format)
	case errors.Is(refused, errNote):
		c, errList := list(opt.FS, dir)
		if errList != nil {
			return "", errors.Join(refused, errList)
		}
		text, err = noteName+" was missing or damaged: it was made again; damage to the end of the log before that is not noticed", renote(c, opt.format)
	default:
		return "", refused
	}
	if err != nil {
		return "", fmt.Errorf("cannot repair: %w: %w", err, refused)
	}
	return text, nil
}

// renote makes the note again.
func renote(c *contents, format uint32) error {
	n, err := noteOf(c, format)
	if err != nil {
		return err
	}
	return writeNote(c.fs, c.dir, n)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
