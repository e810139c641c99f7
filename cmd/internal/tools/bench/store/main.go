// Bench measures pebblestore: rates at given shares of duplicates, many
// callers, opening, memory and disk of a key, import and export. Every answer is
// checked. The rival stores are in cmd/internal/tools/rivals/store.
//
//	go run ./cmd/internal/tools/bench/store -keys 10e6 -length 15s
//
// What takes long can be cut up: -dup 90 measures one share of duplicates, and
// -keep leaves the database in -dir, where the next run finds it loaded. What a
// crawl meets as it grows is one long run:
//
//	go run ./cmd/internal/tools/bench/store -curve 1e6,2e6,5e6,10e6,20e6,50e6,100e6 -length 10s
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "where to make the database, in a directory of its own that is removed afterwards (default: the temporary directory)")
	flag.BoolVar(&b.keep, "keep", false, "make the database in -dir itself, leave it there, and use the one that is there with as many keys or more")
	flag.Float64Var(&b.keys, "keys", 10e6, "keys loaded before measuring")
	flag.DurationVar(&b.load.Length, "length", 15*time.Second, "length of each load")
	flag.IntVar(&b.load.Batch, "batch", 10_000, "keys in a call")
	flag.BoolVar(&b.load.Skew, "skew", false, "draw duplicates as links are, mostly of a few")
	flag.Func("dup", "shares of duplicates, in % (default 90,70,50)", func(text string) error {
		return b.dups.set(text, 1e-2)
	})
	flag.Func("curve", "instead, grow a store to each of these sizes and print a Markdown table", func(text string) error {
		return b.sizes.set(text, 1)
	})
	flag.IntVar(&b.callers, "callers", 1, "callers at once")
	flag.BoolVar(&b.bulk, "bulk", false, "load by sorted import, and measure export and import")
	flag.Func("index", "MB that the index may take; -1 for no index (default: no bound)", func(text string) (err error) {
		b.opt.IndexBytes, err = megabytes(text)
		return err
	})
	flag.BoolVar(&b.opt.Exact, "exact", false, "verify duplicates in the key runs")
	flag.Func("cache", "MB of block cache (default as in Options)", func(text string) (err error) {
		b.opt.CacheBytes, err = megabytes(text)
		return err
	})
	flag.Func("buffer", "MB of each write buffer (default as in Options)", func(text string) error {
		n, err := megabytes(text)
		b.opt.MemTableBytes = int(n)
		return err
	})
	flag.IntVar(&b.opt.Compactions, "compactions", 0, "compactions at once (default as in Options)")
	flag.StringVar(&b.profile, "cpuprofile", "", "file for a CPU profile of the loads")
	flag.Parse()
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
}

// numbers are typed with commas between them: 90,70,50.
type numbers []float64

func (n *numbers) set(text string, unit float64) error {
	*n = nil
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || v < 0 {
			return fmt.Errorf("cannot read %q; want numbers, such as 90,70,50", text)
		}
		*n = append(*n, v*unit)
	}
	return nil
}

func megabytes(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return n << 20, err
}

type bench struct {
	dir     string
	keep    bool
	keys    float64
	load    storebench.Load
	dups    numbers
	sizes   numbers
	callers int
	bulk    bool
	opt     pebblestore.Options
	profile string
	stream  *storebench.Stream
}

func (b *bench) run() (err error) {
	if b.dups == nil {
		b.dups = numbers{0.9, 0.7, 0.5}
	}
	if !b.keep {
		if b.dir, err = os.MkdirTemp(b.dir, "firstseen-bench"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	}
	if b.sizes != nil {
		return b.profiled(b.curve)
	}
	s, err := b.loaded()
	if err != nil {
		return err
	}
	if err := b.profiled(func() error { return b.loads(s) }); err != nil {
		return err
	}
	if b.bulk {
		if err := b.export(s); err != nil {
			return err
		}
	}
	if err := b.report(s); err != nil {
		return err
	}
	if err := b.settle(s); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return b.reopen()
}

// profiled runs f, under a profile if one is asked for.
func (b *bench) profiled(f func() error) error {
	if b.profile == "" {
		return f()
	}
	out, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
