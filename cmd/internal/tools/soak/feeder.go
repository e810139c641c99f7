//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

// feed offers pages until it is killed or the context ends. Most are drawn at random, so
// that nearly all are duplicates after a while; some are forced, so that work never ends.
func feed(ctx context.Context, addr string, j *journal, seed uint64) error {
	a, r := newAPI(addr), rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		urls := make([]offered, 200)
		for i := range urls {
			page := r.IntN(pages)
			urls[i] = offered{URL: spelling(r, page), ID: strconv.Itoa(page), Force: r.IntN(100) == 0}
		}
		verdicts, err := a.offer(ctx, urls)
		var l lines
		for _, v := range verdicts { // what arrived before an error was acknowledged too
			l.add(v.Verdict, v.ID, v.Requeued)
		}
		if err := j.write(&l); err != nil {
			return err
		}
		_ = async.Sleep(ctx, 100*time.Millisecond)
		if err != nil {
			_ = async.Sleep(ctx, time.Second)
		}
	}
	return nil
}
