package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// untilSettled repeats a step until it has nothing left that another daemon has begun. What that is, the step finishes
// itself, so it comes to an end unless daemons begin more and more with the same keys.
func (s *Store) untilSettled(ctx context.Context, step func(context.Context) (bool, error)) error {
	until := time.Now().Add(s.opt.recoverAfter + s.opt.RetryFor)
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		ok, err := step(ctx)
		if ok || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("cannot wait for other daemons' steps any longer: %w", store.ErrUnavailable)
		}
		if try > 0 {
			_ = async.Sleep(ctx, min(time.Millisecond<<min(try, 10), 100*time.Millisecond))
		}
	}
}
