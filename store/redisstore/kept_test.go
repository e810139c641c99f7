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
	offer := func(id requestID, n int) byte {
		t.Helper()
		a := &offering{adding: &adding{s: s, crawl: "c"}, items: []store.Item{testItem(n, "")}}
		b := s.batch(scriptOffer, id, "c", a.head())
		p := b.keyPart(0, &a.items[0].Key)
		p.blob = appendLong(appendUint(p.blob, 2, 0), append(a.items[0].Key[:], make([]byte, len(queueHash{}))...))
		must(true, b.run(t.Context()))(t)
		return p.reply[0]
	}
	n := 0
	for _, step := range []time.Duration{0, kept / 3, kept, -kept / 2, -3 * kept} {
		id, own := s.requests.id(), n
		offer(id, own)
		at.step(step)
		for range 3 {
			n++
			offer(s.requests.id(), n)
		}
		if got := offer(id, own); got != 'N' {
			t.Errorf("got %c for the same request %v later; want N", got, step)
		}
		n++
	}
	id := s.requests.id()
	offer(id, 1000)
	for i := range 3 {
		at.step(kept + time.Second)
		offer(s.requests.id(), 1001+i)
	}
	if got := offer(id, 1000); got != 'D' {
		t.Errorf("got %c for a request long ago; want it carried out again", got)
	}
}
