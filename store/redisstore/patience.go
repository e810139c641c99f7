package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// untilSettled repeats a step until it has nothing left that another daemon is
// about to decide. What a daemon left that died, is decided for it.
func (s *Store) untilSettled(ctx context.Context, step func(context.Context) (bool, error)) error {
	until := time.Now().Add(s.opt.RecoverAfter + s.opt.RetryFor)
	var failed error // of the last recovery; what it could reach is done all the same
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		ok, err := step(ctx)
		if ok || err != nil {
			return err
		}
		if time.Now().After(until) {
			return errors.Join(fmt.Errorf("cannot wait for another daemon's step any longer: %w", store.ErrUnavailable), failed)
		}
		if try > 0 && try%64 == 0 {
			failed = s.recover(ctx, s.opt.RecoverAfter)
		}
		pause(ctx, min(time.Millisecond<<min(try, 10), 100*time.Millisecond))
	}
}
