package storebench

import (
	"errors"
	"os"
	"time"
)

// SyncTimes are the median and the 99th percentile of what dir's disk takes to make
// 4 KB durable in a file that has its blocks: no write of a store is answered sooner.
func SyncTimes(dir string) (p50, p99 time.Duration, err error) {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	const writes = 2000
	block := make([]byte, 4096)
	if _, err = f.Write(make([]byte, 256*len(block))); err == nil {
		err = f.Sync()
	}
	times := make([]call, 0, writes)
	for i := 0; err == nil && i < writes; i++ {
		start := time.Now()
		if _, err = f.WriteAt(block, int64(i%256*len(block))); err == nil {
			err = f.Sync()
		}
		times = append(times, call{all: time.Since(start)})
	}
	if err != nil {
		return 0, 0, err
	}
	var r Result
	r.percentiles(times)
	return r.P50, r.P99, nil
}
