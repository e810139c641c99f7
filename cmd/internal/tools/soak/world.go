//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/freeport"
)

// world is the daemon with all its clients.
type world struct {
	o       *options
	addr    string // of HTTP
	grpc    string
	release func() // frees the addresses
	disk    string // where the store is
	mounted bool
	daemon  *exec.Cmd
	clients []*client
	watch   watch
	events  map[string]int // of chaos, by kind
	steps   []step
	log     *os.File
}

// client is a process that feeds or fetches; it is started again when it was killed.
type client struct {
	kind  string
	n     int
	lives int
	cmd   *exec.Cmd
}

// step is a step of the clock, at a time by the true clock.
type step struct {
	at int64
	by time.Duration
}

func newWorld(ctx context.Context, o *options) (*world, error) {
	w := &world{o: o, events: map[string]int{}, disk: filepath.Join(o.dir, "disk")}
	if err := os.MkdirAll(w.disk, 0o755); err != nil {
		return nil, err
	}
	var err error
	if w.log, err = os.Create(filepath.Join(o.dir, "daemon.log")); err != nil {
		return nil, err
	}
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// begin makes the disk and starts the daemon on it.
func (w *world) begin(ctx context.Context) (err error) {
	if err := errors.Join(w.setRules(0), w.setClock(0)); err != nil {
		return err
	}
	w.mounted = syscall.Mount("soak", w.disk, "tmpfs", 0, fmt.Sprintf("size=%dm", w.o.diskMiB)) == nil
	if w.o.binary == "" {
		w.o.binary = filepath.Join(w.o.dir, "firstseen")
		build := exec.CommandContext(ctx, "go", "build", "-tags", "soak", "-o", w.o.binary, "./cmd/firstseen")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build firstseen: %w\n%s", err, out)
		}
	}
	addrs, release, err := freeport.Take(ctx, 2)
	if err != nil {
		return err
	}
	w.addr, w.grpc, w.release = addrs[0], addrs[1], release
	return w.startDaemon(ctx)
}

// startDaemon starts the daemon and waits until it serves.
func (w *world) startDaemon(ctx context.Context) error {
	w.daemon = exec.CommandContext(ctx, w.o.binary, "serve", "--db", filepath.Join(w.disk, "db"), "--http", w.addr, "--grpc", w.grpc,
		"--delay", hostDelay.String(), "--rule-file", w.rules(), "--min-free", strconv.Itoa(w.minFree()), "--log-level", "warn")
	w.daemon.Env = append(os.Environ(), "FIRSTSEEN_SOAK_CLOCK="+w.clock())
	w.daemon.Stdout, w.daemon.Stderr = w.log, w.log
	w.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := w.daemon.Start(); err != nil {
		return fmt.Errorf("cannot start the daemon: %w", err)
	}
	a := newAPI(w.addr)
	for range 600 {
		if _, err := a.send(ctx, "GET", "/readyz", nil); err == nil {
			return nil
		}
		_ = async.Sleep(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("cannot use the daemon; it isn't ready after a minute; its log is %s", w.log.Name())
}

func (w *world) rules() string { return filepath.Join(w.o.dir, "rules.json") }
func (w *world) clock() string { return filepath.Join(w.o.dir, "clock") }

// minFree is a tenth of the disk that can be filled.
func (w *world) minFree() int {
	if !w.mounted {
		return -1
	}
	return w.o.diskMiB << 20 / 10
}

// setRules writes a rule file of which no URL of the made-up web feels anything.
func (w *world) setRules(n int) error {
	return os.WriteFile(w.rules(), fmt.Appendf(nil, `{"params": [{"host": "*", "drop": ["unused%d"]}]}`, n), 0o644)
}

// setClock makes the store's clock wrong. The file is replaced as a whole.
func (w *world) setClock(by time.Duration) error {
	next := w.clock() + ".next"
	if err := os.WriteFile(next, []byte(strconv.FormatInt(int64(by), 10)), 0o644); err != nil {
		return err
	}
	return os.Rename(next, w.clock())
}

// startClients starts the feeders and fetchers that aren't running.
func (w *world) startClients(ctx context.Context) error {
	if w.clients == nil {
		for i := range w.o.feeders {
			w.clients = append(w.clients, &client{kind: "feed", n: i})
		}
		for i := range w.o.fetchers {
			w.clients = append(w.clients, &client{kind: "fetch", n: i})
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, c := range w.clients {
		if c.cmd != nil {
			continue
		}
		c.lives++
		c.cmd = exec.CommandContext(ctx, self, c.kind, "-addr", w.addr, "-journal", filepath.Join(w.o.dir, fmt.Sprintf("%s%d-%d.journal", c.kind, c.n, c.lives)),
			"-drain", filepath.Join(w.o.dir, "drain"), "-seed", strconv.Itoa(1000*c.lives+i))
		c.cmd.Stderr = w.log
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.cmd.Start(); err != nil {
			return fmt.Errorf("cannot start a client: %w", err)
		}
	}
	return nil
}

// kill ends a client at once.
func (c *client) kill() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill() // it may have ended by itself
		_ = c.cmd.Wait()         // its error is that it was killed
		c.cmd = nil
	}
}

// end ends everything and unmounts the disk.
func (w *world) end() error {
	for _, c := range w.clients {
		c.kill()
	}
	var err error
	if w.daemon != nil && w.daemon.Process != nil {
		_ = w.daemon.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		err = w.daemon.Wait()
	}
	if w.release != nil {
		w.release()
	}
	if w.mounted {
		err = errors.Join(err, syscall.Unmount(w.disk, 0))
	}
	return errors.Join(err, w.log.Close())
}
