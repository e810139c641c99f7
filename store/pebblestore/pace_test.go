package pebblestore

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// TestPace asserts how long writing 32 MiB in pieces of 64 kB takes at each depth.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		deep int
		want time.Duration
	}{
		{0, 0},
		{32, 0},
		{40, time.Second / 3},
		{48, time.Second},
		{56, 3 * time.Second},
		{63, 31 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pace{depth: func() int { return c.deep }, every: 1}
			start := time.Now()
			for range 32 << 20 / (64 << 10) {
				p.wait(nil, nil)
				p.charge(64<<10, 0)
			}
			p.wait(nil, nil)
			took := time.Since(start)
			if (took - c.want).Abs() > paceLeast {
				t.Errorf("%d deep: took %v; want %v", c.deep, took, c.want)
			}
			if took != time.Duration(p.waited.Load()) {
				t.Errorf("%d deep: took %v and counted %d ns", c.deep, took, p.waited.Load())
			}
		})
	}
}

// TestPaceStops checks that nothing is written while L0 is full, as of a store that had more
// sublevels when it was opened, and that a failed or closing store does not wait for that.
func TestPaceStops(t *testing.T) {
	for _, full := range []int{64, 80} {
		synctest.Test(t, func(t *testing.T) {
			start, over := time.Now(), make(chan struct{})
			p := &pace{every: 1, depth: func() int {
				if time.Since(start) < 10*time.Second {
					return full
				}
				return 63
			}}
			p.charge(1, 0)
			close(over)
			p.wait(over, nil)
			p.wait(nil, over)
			if took := time.Since(start); took != 0 {
				t.Errorf("%d deep: a store that is dead or closed waited %v", full, took)
			}
			p.wait(nil, nil)
			if took := time.Since(start); took < 10*time.Second || took > 11*time.Second {
				t.Errorf("%d deep: waited %v; want 10 s, until L0 was not full any more", full, took)
			}
		})
	}
}

// TestPaceForgets checks that idle time counts as paid, that a large group waits at most paceMost, and
// that a failed or closing store does not wait.
func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{depth: func() int { return 60 }, every: 1}
		p.charge(1<<30, 0)
		time.Sleep(paceMost)
		if p.wait(nil, nil); p.waited.Load() != 0 {
			t.Errorf("waited %d ns after idling; want 0", p.waited.Load())
		}
		p.charge(1<<30, 0)
		if p.wait(nil, nil); p.waited.Load() != int64(paceMost) {
			t.Errorf("waited %d ns for 1 GiB; want %v", p.waited.Load(), paceMost)
		}
		over, start := make(chan struct{}), time.Now()
		close(over)
		p.charge(1<<30, 0)
		p.wait(over, nil)
		p.wait(nil, over)
		if d := time.Since(start); d != 0 || p.waited.Load() != int64(paceMost) {
			t.Errorf("waited %v for a store that is dead or closed, and counted %d ns; want 0 and %v", d, p.waited.Load(), paceMost)
		}
	})
}

// TestPaceAsksSeldom asserts when Pebble is asked: after each eighth of a write
// buffer, and once writers wait, when the answer is old.
func TestPaceAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, deep := 0, 0
		p := &pace{depth: func() int { asked++; return deep }, every: 1000}
		step := func(what string, n, want int) {
			t.Helper()
			if p.charge(n, 0); asked != want {
				t.Errorf("%s: asked %d times; want %d", what, asked, want)
			}
		}
		time.Sleep(time.Second)
		step("a little", 999, 0)
		step("nothing", 0, 0)
		step("enough", 1, 1)
		deep = 40
		step("enough again", 1000, 2)
		step("a little when deep", 1, 2)
		time.Sleep(paceFresh)
		deep = 10
		step("an old answer", 1, 3)
		time.Sleep(paceFresh)
		step("no longer deep", 1, 3)
	})
}

// TestPaceInStore checks that writers are slowed down while compactions are far behind, and that no
// key is answered new twice.
func TestPaceInStore(t *testing.T) {
	fs := heldCompactions{vfs.NewMem(), make(chan struct{})}
	opt := tiny(fs)
	opt.memTableBytes, opt.groupKeys = 1<<20, 1
	s := mustOpen(t, "db", opt)
	defer s.Close()
	each := tortureSize(20_000, 50_000)
	keys := testKeys(0, 48_000+4*each)
	for i := range 48 {
		see(t, s, "", keys[i*1000:][:1000])
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			part := keys[48_000+i*each:][:each]
			if err := s.See(t.Context(), "", part, make([]bool, len(part)), store.SeeOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if m := metrics(t, s); m.PaceTime == 0 {
		t.Errorf("nobody was slowed down with %d tables in L0", m.L0Tables)
	}
	close(fs.held)
	hang.Until(t, "compactions", func() bool { return s.pace.depth() <= paceFrom })
	if again := see(t, s, "", keys); again != 0 {
		t.Errorf("%d keys were told new twice", again)
	}
}

// TestPaceOfFlushes checks that writers are slowed down while no run can be written, so that packed
// keys do not fill the memory at full speed, and that all keys are known afterwards.
func TestPaceOfFlushes(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".run") {
			return syscall.EIO
		}
		return nil
	}))
	s := mustOpen(t, "db", Options{FS: fs, tuning: tuning{flushKeys: 1000, lagKeys: 10_000}})
	defer s.Close()
	broken.Store(true)
	see(t, s, "", testKeys(0, 5000))
	if m := metrics(t, s); m.PaceTime > 0 {
		t.Errorf("got %v of waiting with 5,000 packed keys; want none", m.PaceTime)
	}
	// A machine that takes longer for a step than the step costs needs no wait: large steps cost
	// up to a quarter of a second each.
	n := 5000
	for ; metrics(t, s).PaceTime == 0; n += 30_000 {
		if n > 300_000 {
			t.Fatalf("nobody was slowed down with %d packed keys; want it from 5,000 on", n)
		}
		see(t, s, "", testKeys(n, n+30_000))
	}
	broken.Store(false)
	flushRuns(t, s)
	if n := see(t, s, "", testKeys(0, n)); n > 0 {
		t.Errorf("%d keys were told new twice", n)
	}
}

// heldCompactions is a file system in which compactions wait until held is closed.
type heldCompactions struct {
	vfs.FS
	held chan struct{}
}

func (fs heldCompactions) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == "pebble-compaction" {
		<-fs.held
	}
	return fs.FS.Create(name, c)
}

func metrics(t *testing.T, s *Store) Metrics {
	t.Helper()
	m, err := s.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
