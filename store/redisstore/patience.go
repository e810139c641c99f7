package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// untilSettled repeats a step until it has nothing left that another daemon is
// about to decide. What a daemon left that died, is decided for it.
func (s *Store) untilSettled(ctx context.Context, step func(context.Context) (bool, error)) error {
	until := time.Now().Add(s.opt.RecoverAfter + s.opt.RetryFor)
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		ok, err := step(ctx)
		if ok || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("cannot wait for another daemon's step any longer: %w", store.ErrUnavailable)
		}
		if try > 0 && try%64 == 0 {
			if err := s.recover(ctx, s.opt.RecoverAfter); err != nil {
				return err
			}
		}
		pause(ctx, min(time.Millisecond<<min(try, 10), 100*time.Millisecond))
	}
}
