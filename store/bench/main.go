// Bench measures pebblestore: rates at given shares of duplicates, many
// callers, opening, memory and disk of a key, import and export. Every answer is
// checked. The rival stores are in store/rivals.
//
//	go run ./store/bench -keys 10e6 -length 15s
//
// What takes long can be cut up: -dup 90 measures one share of duplicates, and
// -keep leaves the database in -dir, where the next run finds it loaded.
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

	"github.com/firstseen/firstseen/store/internal/storebench"
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
	flag.Var(&b.dups, "dup", "shares of duplicates, in %")
	flag.IntVar(&b.callers, "callers", 1, "callers at once")
	flag.BoolVar(&b.bulk, "bulk", false, "load by sorted import, and measure export and import")
	index := flag.String("index", "", "fp64, fp40, exact128 or bounded")
	flag.BoolVar(&b.opt.Exact, "exact", false, "verify duplicates in Pebble")
	flag.StringVar(&b.profile, "cpuprofile", "", "file for a CPU profile of the loads")
	flag.Parse()
	b.opt.Index = pebblestore.IndexMode(*index)
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
}

// shares are percentages, as typed: 90,70,50.
type shares []float64

func (s *shares) String() string { return fmt.Sprint(*s) }

func (s *shares) Set(text string) error {
	*s = nil
	for part := range strings.SplitSeq(text, ",") {
		p, err := strconv.ParseFloat(part, 64)
		if err != nil || p < 0 || p > 100 {
			return fmt.Errorf("cannot read %q; want percentages, such as 90,70,50", text)
		}
		*s = append(*s, p/100)
	}
	return nil
}

type bench struct {
	dir     string
	keep    bool
	keys    float64
	load    storebench.Load
	dups    shares
	callers int
	bulk    bool
	opt     pebblestore.Options
	profile string
	stream  *storebench.Stream
}

func (b *bench) run() (err error) {
	if b.dups == nil {
		b.dups = shares{0.9, 0.7, 0.5}
	}
	if !b.keep {
		if b.dir, err = os.MkdirTemp(b.dir, "firstseen-bench"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
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
