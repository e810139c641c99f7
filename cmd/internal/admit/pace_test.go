package admit

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace counts events of a client: a burst costs nothing, then each costs a pause, until
// time has passed.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, every = 5, 10 * time.Millisecond
		p := NewPace(burst, every)
		for range 2 {
			for i := range burst {
				if d := p.Next(token(1), 1); d != 0 {
					t.Errorf("event %d: got a pause of %v; want none", i, d)
				}
			}
			for i := range 3 {
				if d, want := p.Next(token(1), 1), time.Duration(i+1)*every; d != want {
					t.Errorf("event %d after the burst: got a pause of %v; want %v", i, d, want)
				}
			}
			if d := p.Next(token(2), 1); d != 0 {
				t.Errorf("got a pause of %v for another client; want none", d)
			}
			time.Sleep(time.Minute)
		}
		p.Next(token(1), 1)
		if len(p.until) != 1 {
			t.Errorf("got %d clients in memory; want the last alone", len(p.until))
		}
	})
}

// TestPaceForgives counts very many events of a client: its debt is bounded, so that it is
// slow for maxPause after its last event and not for as long as it did too much.
func TestPaceForgives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, every = 5, 10 * time.Millisecond
		p := NewPace(burst, every)
		if d := p.Next(token(1), 1_000_000); d != maxPause {
			t.Errorf("got a pause of %v; want %v", d, maxPause)
		}
		if d := p.Next(token(1), 0); d != 0 {
			t.Errorf("got a pause of %v for no event; want none", d)
		}
		time.Sleep(maxPause)
		if d := p.Next(token(1), 1); d != every {
			t.Errorf("got a pause of %v after the last; want %v", d, every)
		}
		time.Sleep(every + burst*every)
		for range burst {
			if d := p.Next(token(1), 1); d != 0 {
				t.Errorf("got a pause of %v when all is paid; want none", d)
			}
		}
	})
}
