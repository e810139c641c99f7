package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// result is what a phase did.
type result struct {
	phase     string
	urls      int64
	took      time.Duration
	cpu       time.Duration // of the server
	own       time.Duration // of this process
	latencies []time.Duration
	failed    int64
	peak      int // resident memory of the server so far, MB
}

// measure runs a phase and charges it with the server's processor time, until the server rests:
// what the phase left for later, as compactions, would slow down the next one.
func (t *target) measure(ctx context.Context, phase string, run func(*target) (result, error)) (result, error) {
	before, own, began := t.CPU(), ownCPU(), time.Now()
	r, err := run(t)
	r.phase, r.took, r.own = phase, time.Since(began), ownCPU()-own
	t.Rest(ctx)
	r.cpu = t.CPU() - before
	r.peak = t.PeakMB()
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", t.Name, phase, err)
	}
	return r, err
}

// ownCPU is the processor time this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// parallel runs f on n clients, each with a connection.
func (t *target) parallel(n int, f func(k int, w *wire) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for k := range n {
		w, err := dialWire(t.addr)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer w.close()
			errs[k] = f(k, w)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// put sends messages on a call, one for each of n, and keeps at most window of
// them unanswered. answered returns the number of answers, under the lock of the wire.
func (c *call) put(n, window int, answered func() int64, message func(dst []byte, i int) []byte) error {
	var buf []byte
	sent, allowed := 0, 0
	for sent < n {
		if allowed == 0 {
			if err := c.w.flush(); err != nil {
				return err
			}
			err := c.wait(func() bool {
				allowed = window - (sent - int(answered()))
				return allowed > window/4
			})
			if err != nil {
				return err
			}
			if allowed <= 0 {
				return errors.New("cannot send; the call has ended")
			}
		}
		buf = appendPrefixed(buf[:0], func(b []byte) []byte { return message(b, sent) })
		if err := c.send(buf); err != nil {
			return err
		}
		sent++
		allowed--
	}
	return c.w.flush()
}

// putURLs sends URLs one by one over two streams, at most window in flight on
// each.
func (t *target) putURLs(urls [][]byte, window int) (result, error) {
	var r [2]tally
	err := t.parallel(2, func(k int, w *wire) error {
		c, err := w.start("PutURLs", r[k].countAck)
		if err != nil {
			return err
		}
		part := share(urls, k, 2)
		err = c.put(len(part), window, func() int64 { return r[k].done },
			func(dst []byte, i int) []byte { return appendItem(dst, part[i], false, i) })
		if err != nil {
			return err
		}
		return errors.Join(c.finish(), c.end())
	})
	return sum(r), err
}

// putDiscovered sends URLs in batches over two streams, at most window URLs in
// flight on each.
func (t *target) putDiscovered(urls [][]byte, size, window int) (result, error) {
	var r [2]tally
	err := t.parallel(2, func(k int, w *wire) error {
		c, err := w.start("PutDiscovered", r[k].countBatch)
		if err != nil {
			return err
		}
		batches := slices.Collect(slices.Chunk(share(urls, k, 2), size))
		err = c.put(len(batches), max(window/size, 1), func() int64 { return r[k].acks },
			func(dst []byte, i int) []byte { return appendBatch(dst, batches[i]) })
		if err != nil {
			return err
		}
		return errors.Join(c.finish(), c.end())
	})
	return sum(r), err
}

func sum(r [2]tally) result {
	return result{urls: r[0].done + r[1].done, failed: r[0].failed + r[1].failed}
}

// cycle fetches: it takes URLs and completes each, until it did so many or
// time is up.
func (t *target) cycle(clients int, queues uint32, most int64, limit time.Duration) (result, error) {
	var done atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	end := time.Now().Add(limit)
	err := t.parallel(clients, func(_ int, get *wire) error {
		f, err := t.newFinisher()
		if err != nil {
			return err
		}
		defer f.close()
		for done.Load() < most && time.Now().Before(end) {
			began := time.Now()
			urls, err := get.request("GetURLs", encodeParams(queues, 10))
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, time.Since(began))
			mu.Unlock()
			if len(urls) == 0 && done.Load() == 0 {
				return errors.New("got nothing to fetch")
			}
			if err := f.complete(urls); err != nil {
				return err
			}
			if done.Add(int64(len(urls))); len(urls) == 0 {
				return nil
			}
		}
		return f.end()
	})
	return result{urls: done.Load(), latencies: all}, err
}

// request makes a call of one message. The answers are as they came.
func (w *wire) request(method string, params []byte) ([][]byte, error) {
	var answers [][]byte
	c, err := w.start(method, func(msg []byte) { answers = append(answers, slices.Clone(msg)) })
	if err != nil {
		return nil, err
	}
	if err := c.send(appendPrefixed(nil, func(b []byte) []byte { return append(b, params...) })); err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return answers, c.end()
}

// finisher completes URLs over one PutURLs stream.
type finisher struct {
	w    *wire
	call *call
	got  tally
	sent int64
}

func (t *target) newFinisher() (*finisher, error) {
	w, err := dialWire(t.addr)
	if err != nil {
		return nil, err
	}
	f := &finisher{w: w}
	f.call, err = w.start("PutURLs", f.got.countAck)
	return f, err
}

func (f *finisher) close() { f.w.close() }

// complete puts URLs as done and waits for their acks.
func (f *finisher) complete(urls [][]byte) error {
	base := f.sent
	f.sent += int64(len(urls))
	err := f.call.put(len(urls), 1024, func() int64 { return f.got.done - base },
		func(dst []byte, i int) []byte { return appendItem(dst, urls[i], true, i) })
	if err != nil {
		return err
	}
	return f.call.wait(func() bool { return f.got.done >= f.sent })
}

func (f *finisher) end() error {
	err := errors.Join(f.call.finish(), f.call.end())
	if f.got.failed > 0 {
		err = errors.Join(err, fmt.Errorf("got FAIL for %d completed URLs", f.got.failed))
	}
	return err
}
