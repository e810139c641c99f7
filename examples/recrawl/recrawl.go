package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

// recrawler fetches pages again and again, the more often the more often they
// change: a page that changed is visited after half the time, one that did not
// after twice the time, within bounds.
type recrawler struct {
	f       *frontier.Frontier
	fetch   func(ctx context.Context, url string) ([]byte, error)
	first   time.Duration
	soonest time.Duration
	latest  time.Duration
	onVisit func(url string, changed bool, next time.Duration)
}

// visited is the data of the last visit. The frontier stores it with the URL, as Meta, so the crawler
// needs no table of its own.
type visited struct {
	digest   uint64
	interval time.Duration
}

func (v visited) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, v.digest)
	return binary.BigEndian.AppendUint64(b, uint64(v.interval))
}

func decode(b []byte) (v visited, ok bool) {
	if len(b) != 16 {
		return v, false
	}
	return visited{binary.BigEndian.Uint64(b), time.Duration(binary.BigEndian.Uint64(b[8:]))}, true
}

// loop visits pages until the context ends. It never ends by itself: a page
// that is to be visited again is held.
func (r *recrawler) loop(ctx context.Context) error {
	for {
		lease, err := r.f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.visit(ctx, lease); err != nil {
			return err
		}
	}
}

func (r *recrawler) visit(ctx context.Context, lease *frontier.Lease) error {
	settle := context.WithoutCancel(ctx)
	body, err := r.fetch(ctx, lease.URL)
	if err != nil {
		_, err := r.f.Retry(settle, lease, time.Time{})
		return err
	}
	now, changed := r.judge(lease.Meta, body)
	r.onVisit(lease.URL, changed, now.interval)
	answers, err := r.f.Settle(settle, []frontier.Settlement{{
		Lease:   lease,
		Outcome: frontier.Recrawl,
		At:      time.Now().Add(now.interval),
		Meta:    now.encode(),
	}})
	if err == nil && answers[0] == frontier.Stale {
		err = fmt.Errorf("cannot schedule %s: %w", lease.URL, frontier.ErrStale)
	}
	return err
}

// judge compares a page with its last visit and says when to come again.
func (r *recrawler) judge(meta, body []byte) (now visited, changed bool) {
	h := fnv.New64a()
	h.Write(body)
	now.digest = h.Sum64()
	before, known := decode(meta)
	switch {
	case !known:
		now.interval = r.first
	case before.digest != now.digest:
		changed = true
		now.interval = max(before.interval/2, r.soonest)
	default:
		now.interval = min(before.interval*2, r.latest)
	}
	return now, changed
}
