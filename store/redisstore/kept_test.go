package redisstore

import (
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestAnswersAreKeptLongEnough repeats a request after others, so that the hash of its answer is replaced. Its key stays new for
// as long as answers are kept, also if the server's clock is set back.
func TestAnswersAreKeptLongEnough(t *testing.T) {
	s, at := openWithClock(t, 1)
	defer s.Close()
	kept := s.opt.answersFor()
	offer := func(id [16]byte, n int) byte {
		t.Helper()
		a := unsent(s, "c", store.AddOptions{}, testItem(n, ""))
		b := s.batch(scriptOffer, "c", a.head())
		b.id = id
		c := b.addKey(0, &a.items[0].Key)
		c.blob = appendLong(appendUint(c.blob, 2, 0), append(a.items[0].Key[:], make([]byte, len(queueHash{}))...))
		must(true, b.run(t.Context()))(t)
		return c.reply[0]
	}
	n := 0
	for _, step := range []time.Duration{0, kept / 3, kept, -kept / 2, -3 * kept} {
		id, own := s.newID(), n
		offer(id, own)
		at.step(step)
		for range 3 {
			n++
			offer(s.newID(), n)
		}
		if got := offer(id, own); got != 'N' {
			t.Errorf("got %c for the same request %v later; want N", got, step)
		}
		n++
	}
	id := s.newID()
	offer(id, 1000)
	for i := range 3 {
		at.step(kept + time.Second)
		offer(s.newID(), 1001+i)
	}
	if got := offer(id, 1000); got != 'D' {
		t.Errorf("got %c for a request long ago; want it carried out again", got)
	}
}
