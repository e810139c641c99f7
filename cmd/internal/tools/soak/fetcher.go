//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

const (
	leaseTime = 60 * time.Second
	hostDelay = 200 * time.Millisecond
)

// fetch leases pages and settles them until it is killed or the context ends. Once the file drain
// exists, it settles all of them permanently.
func fetch(ctx context.Context, addr string, j *journal, seed uint64, drain string) error {
	a, r := newAPI(addr), rand.New(rand.NewPCG(seed, 2))
	for ctx.Err() == nil {
		_, err := os.Stat(drain)
		if err := fetchSome(ctx, a, r, j, err == nil); err != nil {
			return err
		}
	}
	return nil
}

// fetchSome takes one turn. Its error is that of the journal: the daemon's are waited out.
func fetchSome(ctx context.Context, a *api, r *rand.Rand, j *journal, draining bool) error {
	var answer struct{ Leases []leased }
	err := a.ask(ctx, http.MethodPost, "/v1/lease", map[string]any{"max": 50, "max_per_queue": 1, "max_in_flight": 1, "lease_seconds": leaseTime.Seconds(),
		"delay_seconds": hostDelay.Seconds(), "wait_seconds": 1, "stay": true}, &answer)
	if err != nil {
		_ = async.Sleep(ctx, 500*time.Millisecond)
		return nil
	}
	var got lines
	for _, l := range answer.Leases {
		got.add("lease", pageOf(l.URL), l.Token, l.Queue, l.Expires.UnixNano())
	}
	if err := j.write(&got); err != nil {
		return err
	}
	_ = async.Sleep(ctx, time.Duration(10+r.IntN(200))*time.Millisecond) // the fetch
	return settleAll(ctx, a, r, j, answer.Leases, draining)
}

func settleAll(ctx context.Context, a *api, r *rand.Rand, j *journal, leases []leased, draining bool) error {
	if len(leases) == 0 {
		return nil
	}
	var asked, done lines
	all := make([]settlement, len(leases))
	for i, l := range leases {
		all[i] = settlement{Crawl: l.Crawl, Key: l.Key, Token: l.Token, Attempts: l.Attempts, Outcome: outcome(r, draining)}
		if o := all[i].Outcome; o == "recrawl" || o == "retry" {
			all[i].At = time.Now().Add(time.Duration(5+r.IntN(20)) * time.Second)
		}
		asked.add("settle", pageOf(l.URL), l.Token, all[i].Outcome)
	}
	if err := j.write(&asked); err != nil {
		return err
	}
	var answer struct{ Answers []string }
	if err := a.ask(ctx, http.MethodPost, "/v1/done", map[string]any{"leases": all}, &answer); err != nil {
		return nil // the leases run out, or the answer was lost: the journal has the request
	}
	for i, what := range answer.Answers {
		done.add("settled", pageOf(leases[i].URL), leases[i].Token, what)
	}
	return j.write(&done)
}

func outcome(r *rand.Rand, draining bool) string {
	if draining {
		return "done"
	}
	switch n := r.IntN(100); {
	case n < 60:
		return "done"
	case n < 85:
		return "recrawl"
	case n < 92:
		return "retry"
	case n < 97:
		return "release"
	}
	return "drop"
}
