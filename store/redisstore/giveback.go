package redisstore

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

// giveBack releases the leases of takes that were not answered: WAIT fell short, or the answer was lost. The
// shard finds them by the request. One that can't be reached now is asked again in the background, for as long as it
// keeps answers.
func (s *Store) giveBack(ctx context.Context, takes []*call) {
	var calls []*call
	for _, c := range takes {
		if !c.done && c.err != errSilent || lost(c) {
			calls = append(calls, &call{shard: c.shard, script: scriptGiveBack, blob: c.id[:]})
		}
	}
	if len(calls) == 0 {
		return
	}
	for range 2 { // a node that has just come back has to be given the script first
		s.attempt(context.WithoutCancel(ctx), calls)
		if worstOf(calls) == nil {
			return
		}
	}
	s.background.Go(func() {
		for until := time.Now().Add(s.opt.answersFor()); time.Now().Before(until) && worstOf(calls) != nil; {
			_ = async.Sleep(s.life, 500*time.Millisecond)
			if s.life.Err() != nil {
				return
			}
			s.attempt(s.life, calls)
		}
	})
}
