package main

import (
	"fmt"
	"time"
)

// drain takes everything in one call.
func (t *target) drain() (result, error) {
	w, err := dialWire(t.addr)
	if err != nil {
		return result{}, err
	}
	defer w.close()
	urls, err := take(w, nil)
	return result{urls: int64(len(urls))}, err
}

// emptyQueues makes n queues and completes what they hold.
func (t *target) emptyQueues(n int) (result, error) {
	err := t.parallel(2, func(k int, w *wire) error {
		f, err := t.newFinisher()
		if err != nil {
			return err
		}
		defer f.close()
		for first := k * 1000; first < n; first += 2000 {
			var urls [][]byte
			for i := first; i < min(first+1000, n); i++ {
				urls = append(urls, encodeInfo(fmt.Sprintf("https://empty%d.example/", i), fmt.Sprintf("empty%d.example", i)))
			}
			if err := f.complete(urls); err != nil {
				return err
			}
		}
		return f.end()
	})
	return result{}, err
}

// gets asks for work so many times, and keeps each call's time.
func (t *target) gets(calls int) (result, error) {
	w, err := dialWire(t.addr)
	if err != nil {
		return result{}, err
	}
	defer w.close()
	var r result
	for range calls {
		began := time.Now()
		urls, err := take(w, encodeParams(10, 10))
		if err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(began))
		r.urls += int64(len(urls))
	}
	return r, nil
}
