package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

// Node is one server. Its methods are safe for concurrent use.
type Node struct {
	Addr    string // host:port of its clients
	TLSAddr string // of those with TLS; "" without Options.TLS
	ID      string // its name in the cluster; "" of a server alone

	dir, password string
	bus           int // the port that the other nodes use

	mu   sync.Mutex
	proc *os.Process
	dead chan struct{} // closed when proc is gone
}

// start starts the process and waits until it answers.
func (n *Node) start(ctx context.Context) error {
	n.mu.Lock()
	if n.proc != nil {
		n.mu.Unlock()
		return fmt.Errorf("cannot start %s: it runs", n.Addr)
	}
	proc, dead, err := spawn(n.dir)
	if err != nil {
		n.mu.Unlock()
		return fmt.Errorf("cannot start redis-server: %w", err)
	}
	n.proc, n.dead = proc, dead
	n.mu.Unlock()
	err = until(ctx, "answers", func(ctx context.Context) (bool, error) {
		if async.Closed(dead) {
			return false, fmt.Errorf("redis-server ended at its start: %s", n.lastLog())
		}
		reply, err := n.Do(ctx, "PING")
		return err == nil && reply == "PONG", nil
	})
	if n.ID == "" { // a node keeps it, and others may read it while it starts again
		if id, failed := n.Do(ctx, "CLUSTER", "MYID"); failed == nil { // it is refused outside a cluster
			n.ID, _ = id.(string)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", n.Addr, errors.Join(err, n.Kill()))
	}
	return nil
}

// spawn runs redis-server on the configuration in dir. The thread that starts
// a child must live as long as the child: the kernel counts its end as the parent's.
func spawn(dir string) (*os.Process, chan struct{}, error) {
	cmd := exec.Command("redis-server", filepath.Join(dir, "redis.conf"))
	cmd.SysProcAttr = dieWithParent()
	started, dead := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a killed server has no status worth telling
		}
		close(dead)
	}()
	if err := <-started; err != nil {
		return nil, nil, err
	}
	return cmd.Process, dead, nil
}

// Kill ends the process at once, as a power cut of its machine would, and
// waits for its end. A node that doesn't run stays so.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return nil
	}
	if err := n.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot kill %s: %w", n.Addr, err)
	}
	<-n.dead
	n.proc = nil
	return nil
}

// Restart starts a killed node again, on the data it left.
func (n *Node) Restart(ctx context.Context) error { return n.start(ctx) }

// Stop pauses the process: its connections stay open, and nothing answers.
func (n *Node) Stop() error { return n.signal(pause) }

// Cont continues a paused process.
func (n *Node) Cont() error { return n.signal(resume) }

func (n *Node) signal(send func(*os.Process) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return fmt.Errorf("cannot signal %s: it doesn't run", n.Addr)
	}
	return send(n.proc)
}

// PID is the process's number, 0 when it doesn't run.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return 0
	}
	return n.proc.Pid
}

// Do sends one command on a connection of its own. The reply is a string, an
// int64, nil or a []any of these; an error of the server is a [ReplyError].
func (n *Node) Do(ctx context.Context, args ...string) (any, error) {
	c, err := dial(ctx, n.Addr, n.password)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.do(args...)
}

// Info returns the fields of a section of INFO, or of all with "".
func (n *Node) Info(ctx context.Context, section string) (map[string]string, error) {
	reply, err := n.Do(ctx, "INFO", section)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", n.Addr, err)
	}
	fields := make(map[string]string)
	text, _ := reply.(string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// lastLog returns the end of the server's log.
func (n *Node) lastLog() string {
	b, err := os.ReadFile(filepath.Join(n.dir, "redis.log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-500):])
}

// until calls is repeatedly until it returns true or an error, or ctx ends. what names the
// condition in errors. If a connection times out because ctx ended, the error is that of ctx.
func until(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := is(ctx)
		if err != nil && ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait until it %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// writeConf writes a server's configuration.
func writeConf(dir string, lines []string) error {
	f, err := os.OpenFile(filepath.Join(dir, "redis.conf"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, strings.Join(lines, "\n")+"\n")
	return errors.Join(err, f.Close())
}
