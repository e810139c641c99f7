package main

import (
	"syscall"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/hashkey/sxurl"
)

// operation is one of ours beside the crate's that does the same. run does it for every
// item, again and again for a tenth of a second at least, and returns nanoseconds per item.
type operation struct {
	crate, name string
	run         func() float64
}

func operations(urls []string) []operation {
	ops := []operation{
		{"url-hash", "hashkey.SumURL (SHA-256)", each(urls, func(u string) { _, _ = hashkey.SumURL(u) })},
		{"url-hash", "hashkey.SumURLCrate (its SHA-384)", each(urls, func(u string) { _, _ = hashkey.SumURLCrate(u) })},
	}
	ops = append(ops, sxurlOperations("sxurl", sxurl.Codec{}, urls)...)
	return append(ops, sxurlOperations("sxurl-1.1", sxurl.Codec{Layout: sxurl.Release11}, urls)...)
}

func sxurlOperations(crate string, c sxurl.Codec, urls []string) []operation {
	encoder := sxurl.NewEncoder(c)
	var keys []string
	for _, u := range urls {
		if k, err := c.Encode(u); err == nil {
			keys = append(keys, k.Hex())
		}
	}
	probe, err := c.Probe(sxurl.Domain, "google")
	if err != nil {
		panic(err)
	}
	parsed := func(f func(sxurl.Key)) func() float64 {
		return each(keys, func(text string) {
			if k, err := sxurl.ParseKey(text); err == nil {
				f(k)
			}
		})
	}
	return []operation{
		{crate + " encode", "Encoder.Encode", each(urls, func(u string) { _, _ = encoder.Encode(u) })},
		{crate + " encode", "Codec.Encode (remembers nothing)", each(urls, func(u string) { _, _ = c.Encode(u) })},
		{crate + " decode", "ParseKey, Codec.Decode", parsed(func(k sxurl.Key) { _, _ = c.Decode(k) })},
		{crate + " match", "ParseKey, Probe.Match", parsed(func(k sxurl.Key) { _, _ = probe.Match(k) })},
		{crate + " match", "ParseKey, Codec.Match (hashes the value)", parsed(func(k sxurl.Key) { _, _ = c.Match(k, sxurl.Domain, "google") })},
	}
}

func each(items []string, f func(string)) func() float64 {
	return func() float64 {
		start, done := processorTime(), 0
		for {
			for _, item := range items {
				f(item)
			}
			done += len(items)
			if took := processorTime() - start; took >= int64(100*time.Millisecond) {
				return float64(took) / float64(done)
			}
		}
	}
}

// processorTime is what this process has had, garbage collection included, in nanoseconds.
// Other work on the machine does not lengthen it much.
func processorTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
