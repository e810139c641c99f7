package frontier

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store/memstore"
)

// TestSweepDoubtsAClockThatJumped checks that a clock that jumps ahead by a year makes a sweep wait
// an hour, and log it once.
func TestSweepDoubtsAClockThatJumped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log := new(wallClock), new(bytes.Buffer)
		s := memstore.New(memstore.Options{Clock: c.now})
		t.Cleanup(func() { must(t, s.Close()) })
		f := openOn(t, s, Options{Delay: -1, SeenFor: 80 * 24 * time.Hour, Logger: slog.New(slog.NewTextHandler(log, nil))})
		page := Link{URL: "http://a.example/"}
		addOne(t, f, page)
		must(t, f.Done(bg, leaseOne(t, f)))
		c.set(year)
		time.Sleep(115 * time.Minute)
		if r := addOne(t, f, page); r.Status != StatusDuplicate {
			t.Errorf("got %v before the clock is trusted again; want duplicate", r.Status)
		}
		time.Sleep(9 * time.Hour)
		if r := addOne(t, f, page); r.Status != StatusNew {
			t.Errorf("got %v hours after it is trusted; want new", r.Status)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "not forgotten"); n != 1 {
			t.Errorf("got %d messages of doubt; want one:\n%s", n, log)
		}
		if !strings.Contains(log.String(), "is trusted again:") {
			t.Errorf("got no message that the sweep goes on:\n%s", log)
		}
	})
}
