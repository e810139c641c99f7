//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

// work runs the clients with chaos for four fifths of the time, and in calm for the last.
func (w *world) work(ctx context.Context) error {
	if err := w.startClients(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go w.watch.run(watching, newAPI(w.addr))
	end := time.Now().Add(w.o.length)
	calm := end.Add(-w.o.length / 5)
	r := rand.New(rand.NewPCG(w.o.seed, 3))
	for time.Now().Before(calm) && ctx.Err() == nil {
		_ = async.Sleep(ctx, time.Duration(1000+r.IntN(6000))*time.Millisecond)
		if err := w.happen(ctx, r); err != nil {
			return err
		}
		if err := w.startClients(ctx); err != nil {
			return err
		}
	}
	if err := w.setClock(0); err != nil {
		return err
	}
	w.watch.calm()
	_ = async.Sleep(ctx, time.Until(end))
	return ctx.Err()
}

// happen lets one thing go wrong.
func (w *world) happen(ctx context.Context, r *rand.Rand) error {
	switch n := r.IntN(100); {
	case n < 20:
		return w.count("daemon killed", w.killDaemon(ctx))
	case n < 60:
		w.clients[r.IntN(len(w.clients))].kill()
		return w.count("client killed", nil)
	case n < 70:
		return w.fillDisk(ctx)
	case n < 85:
		return w.count("clock stepped", w.stepClock(time.Duration(r.IntN(40)-20)*time.Second))
	}
	return w.count("rules reloaded", errors.Join(w.setRules(r.IntN(1000)), w.daemon.Process.Signal(syscall.SIGHUP)))
}

func (w *world) count(kind string, err error) error {
	w.events[kind]++
	return err
}

func (w *world) killDaemon(ctx context.Context) error {
	if err := w.daemon.Process.Kill(); err != nil {
		return fmt.Errorf("cannot kill the daemon: %w", err)
	}
	_ = w.daemon.Wait() // its error is that it was killed
	return w.startDaemon(ctx)
}

func (w *world) stepClock(by time.Duration) error {
	w.steps = append(w.steps, step{time.Now().UnixNano(), by})
	return w.setClock(by)
}

// fillDisk leaves next to nothing of the disk for a while.
func (w *world) fillDisk(ctx context.Context) error {
	if !w.mounted {
		return nil
	}
	ballast := filepath.Join(w.disk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		return fmt.Errorf("cannot fill the disk: %w", err)
	}
	block := make([]byte, 1<<20)
	for ctx.Err() == nil {
		var st syscall.Statfs_t
		if err := syscall.Statfs(w.disk, &st); err != nil || int64(st.Bavail)*st.Bsize < int64(w.minFree()/2) {
			break
		}
		if _, err := file.Write(block); err != nil {
			break // full
		}
	}
	_ = async.Sleep(ctx, 4*time.Second)
	return w.count("disk filled", errors.Join(file.Close(), os.Remove(ballast)))
}

// drain lets the fetchers settle all that is held; the feeders end.
func (w *world) drain(ctx context.Context) (bool, error) {
	for _, c := range w.clients {
		if c.kind == "feed" {
			c.kill()
		}
	}
	if err := os.WriteFile(filepath.Join(w.o.dir, "drain"), nil, 0o644); err != nil {
		return false, err
	}
	a := newAPI(w.addr)
	for deadline := time.Now().Add(20 * time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; {
		var st struct{ Held int64 }
		if err := a.ask(ctx, "GET", "/v1/stats?crawl=*", nil, &st); err == nil && st.Held == 0 {
			return true, nil
		}
		_ = async.Sleep(ctx, time.Second)
	}
	return false, ctx.Err()
}

// offerAll offers every page that a journal knows as acknowledged once more, and returns
// how many the daemon calls new: it has forgotten those.
func (w *world) offerAll(ctx context.Context) (forgotten int, err error) {
	seen := map[int]bool{}
	if err := readJournals(filepath.Join(w.o.dir, "feed*.journal"), func(e entry) {
		if page, ok := e.page(); ok && (e.word == "new" || e.word == "duplicate") {
			seen[page] = true
		}
	}); err != nil {
		return 0, err
	}
	r := rand.New(rand.NewPCG(w.o.seed, 4))
	return offerAgain(ctx, newAPI(w.addr), maps.Keys(seen), func(page int) string { return spelling(r, page) })
}

// offerAgain offers known pages, and returns how many the daemon calls anything but a duplicate.
func offerAgain(ctx context.Context, a *api, pages iter.Seq[int], url func(page int) string) (forgotten int, err error) {
	var urls []offered
	flush := func() error {
		verdicts, err := a.offer(ctx, urls)
		for _, v := range verdicts {
			if v.Verdict != "duplicate" {
				forgotten++
			}
		}
		if err == nil && len(verdicts) != len(urls) {
			err = fmt.Errorf("cannot check; got %d verdicts; want %d", len(verdicts), len(urls))
		}
		urls = urls[:0]
		return err
	}
	for page := range pages {
		if urls = append(urls, offered{URL: url(page), ID: strconv.Itoa(page)}); len(urls) == 1000 {
			if err := flush(); err != nil {
				return forgotten, err
			}
		}
	}
	return forgotten, flush()
}
