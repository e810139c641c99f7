package redisstore

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// ending is a context that ends once something has been stored: when it is asked the nth time.
type ending struct {
	context.Context
	left atomic.Int64
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestAStepThatBeganIsEnded ends the context of a See and a Settle at every time at which it is looked at:
// an error of the context alone means that nothing was stored.
func TestAStepThatBeganIsEnded(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	keys := make([]store.Key, waveSize+1)
	for i := range keys {
		keys[i] = testItem(i, "").Key
	}
	made := []store.Settlement{{Key: testItem(1, "a").Key, Create: true, Queue: "a", Outcome: store.Requeue}, {Key: testItem(2, "").Key, Token: 5}}
	for name, step := range map[string]func(ctx context.Context, s *Store) error{
		"see": func(ctx context.Context, s *Store) error {
			return s.See(ctx, "c", keys, make([]bool, len(keys)), store.SeeOptions{})
		},
		"settle": func(ctx context.Context, s *Store) error {
			_, err := s.Settle(ctx, "c", made)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, testOptions(addr, 1))
			must(true, step(t.Context(), s))(t) // the server has the scripts from here on
			closeAll(t, s)
			for n := int64(0); ; n++ {
				s := open(t, testOptions(addr, 1))
				ctx := &ending{Context: t.Context()}
				ctx.left.Store(n)
				err := step(ctx, s)
				st := must(s.Stats(t.Context(), "c"))(t)
				closeAll(t, s)
				if err == nil {
					return
				}
				if st.Seen > 0 && !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("the context ended at look %d: got error %v with %d keys seen; want none", n, err, st.Seen)
				}
			}
		})
	}
}
