//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options of a soak.
type options struct {
	length   time.Duration
	seed     uint64
	dir      string
	binary   string
	fetchers int
	feeders  int
	diskMiB  int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(3)
	}
	if !ok {
		os.Exit(1)
	}
}

// run is the command: "feed", "fetch" and "dayfetch" are the clients that it starts of itself.
func run(ctx context.Context, args []string) (bool, error) {
	if len(args) > 0 && args[0] == "day" {
		return runDay(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "dayfetch" {
		return true, dayFetch(ctx, args[1:])
	}
	if len(args) > 0 && (args[0] == "feed" || args[0] == "fetch") {
		return true, runClient(ctx, args[0], args[1:])
	}
	var o options
	fs := flag.NewFlagSet("soak", flag.ContinueOnError)
	fs.DurationVar(&o.length, "length", 10*time.Minute, "how long to work, without the time to empty the frontier")
	fs.Uint64Var(&o.seed, "seed", 1, "of the chaos")
	fs.StringVar(&o.dir, "dir", "", "where to work; default: a temporary directory, removed if all went well")
	fs.StringVar(&o.binary, "binary", "", "firstseen, built with -tags soak; default: build it")
	fs.IntVar(&o.fetchers, "fetchers", 8, "clients that fetch")
	fs.IntVar(&o.feeders, "feeders", 3, "clients that offer URLs")
	fs.IntVar(&o.diskMiB, "disk", 1024, "MiB of the disk that is filled")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	temporary := o.dir == ""
	if temporary {
		var err error
		if o.dir, err = os.MkdirTemp("", "soak-"); err != nil {
			return false, err
		}
	}
	ok, err := soak(ctx, &o)
	if temporary && ok && err == nil {
		err = os.RemoveAll(o.dir)
	} else {
		fmt.Fprintln(os.Stderr, "soak: journals and logs are in", o.dir)
	}
	return ok, err
}

func runClient(ctx context.Context, kind string, args []string) error {
	var addr, name, drain string
	var seed uint64
	fs := flag.NewFlagSet(kind, flag.ContinueOnError)
	fs.StringVar(&addr, "addr", "", "of the daemon")
	fs.StringVar(&name, "journal", "", "file to write to")
	fs.StringVar(&drain, "drain", "", "file that says to settle everything for good")
	fs.Uint64Var(&seed, "seed", 0, "of what is drawn")
	if err := fs.Parse(args); err != nil {
		return err
	}
	j, err := openJournal(name)
	if err != nil {
		return err
	}
	if kind == "feed" {
		return feed(ctx, addr, j, seed)
	}
	return fetch(ctx, addr, j, seed, drain)
}

// soak runs everything, and reports whether all checks passed.
func soak(ctx context.Context, o *options) (bool, error) {
	w, err := newWorld(ctx, o)
	if err != nil {
		return false, err
	}
	began := time.Now()
	if err := w.work(ctx); err != nil {
		return false, errors.Join(err, w.end())
	}
	drained, err := w.drain(ctx)
	if err != nil {
		return false, errors.Join(err, w.end())
	}
	known, err := w.offerAll(ctx)
	if err := errors.Join(err, w.end()); err != nil {
		return false, err
	}
	f, err := judge(filepath.Join(o.dir, "*.journal"), w.steps)
	if err != nil {
		return false, err
	}
	f.drained, f.forgotten = drained, known
	f.grown = w.watch.grown()
	return f.report(os.Stdout, w, time.Since(began)), nil
}
