package main

import (
	"errors"
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
	urls, err := w.request("GetURLs", nil)
	return result{urls: int64(len(urls))}, err
}

// emptyQueues makes n queues of one URL each and completes all but every
// thousandth.
func (t *target) emptyQueues(n int) (result, error) {
	err := t.parallel(2, func(k int, w *wire) error {
		f, err := t.newFinisher()
		if err != nil {
			return err
		}
		defer f.close()
		var left [][]byte
		for first := k * 1000; first < n; first += 2000 {
			left = append(left, oneURL(first))
			var urls [][]byte
			for i := first + 1; i < min(first+1000, n); i++ {
				urls = append(urls, oneURL(i))
			}
			if err := f.complete(urls); err != nil {
				return err
			}
		}
		return errors.Join(f.end(), discover(w, left))
	})
	return result{urls: int64(n)}, err
}

// oneURL is the URL of the i-th queue.
func oneURL(i int) []byte {
	return encodeInfo(fmt.Sprintf("https://empty%d.example/", i), fmt.Sprintf("empty%d.example", i))
}

// discover puts URLs in one batch.
func discover(w *wire, urls [][]byte) error {
	var got tally
	c, err := w.start("PutDiscovered", got.countBatch)
	if err != nil {
		return err
	}
	if err := c.send(appendPrefixed(nil, func(b []byte) []byte { return appendBatch(b, urls) })); err != nil {
		return err
	}
	return errors.Join(c.finish(), c.end())
}

// askFor bounds the phases that ask one thing again and again: a server that
// takes seconds for an answer needn't give it a thousand times.
const askFor = 10 * time.Second

// ask makes a call so many times, or for as long as askFor, and keeps each
// call's time.
func (t *target) ask(calls int, method string, params []byte) (result, error) {
	w, err := dialWire(t.addr)
	if err != nil {
		return result{}, err
	}
	defer w.close()
	var r result
	end := time.Now().Add(askFor)
	for i := 0; i < calls && (i == 0 || time.Now().Before(end)); i++ {
		began := time.Now()
		answers, err := w.request(method, params)
		if err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(began))
		r.urls += int64(len(answers))
	}
	return r, nil
}
