package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/cmd/internal/tools/freeport"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// target is a server under test: a process and connections to it.
type target struct {
	name    string
	cmd     *exec.Cmd
	addr    string
	release func() // gives the address back
	dir     string
}

// startOurs starts firstseen serve with acks that are synced, and exact text
// as identity if so asked: the peer has no other.
func startOurs(ctx context.Context, binary, profile string) (*target, error) {
	return start(ctx, "firstseen "+profile, func(dir, addr string) *exec.Cmd {
		return exec.CommandContext(ctx, binary, "serve", "--db", filepath.Join(dir, "db"), "--grpc", addr,
			"--http", "off", "--profile", profile, "--log-level", "warn")
	})
}

// startPeer starts URLFrontier with its RocksDB service and the heap of its
// Docker image.
func startPeer(ctx context.Context, jar string) (*target, error) {
	return start(ctx, "urlfrontier", func(dir, addr string) *exec.Cmd {
		host, port, _ := strings.Cut(addr, ":")
		return exec.CommandContext(ctx, "java", "-Xmx2G", "-XX:+UseG1GC", "-jar", jar, "-h", host, "-p", port,
			"implementation=crawlercommons.urlfrontier.service.rocksdb.RocksDBService", "rocksdb.path="+filepath.Join(dir, "rocks"))
	})
}

func start(ctx context.Context, name string, command func(dir, addr string) *exec.Cmd) (*target, error) {
	dir, err := os.MkdirTemp("", "loadgen-")
	if err != nil {
		return nil, err
	}
	addrs, release, err := freeport.Take(ctx, 1)
	if err != nil {
		return nil, err
	}
	t := &target{name: name, dir: dir, addr: addrs[0], release: release, cmd: command(dir, addrs[0])}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	t.cmd.Stdout, t.cmd.Stderr = log, log
	t.cmd.Cancel = func() error { return t.cmd.Process.Signal(syscall.SIGTERM) }
	t.cmd.WaitDelay = 30 * time.Second
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	return t, t.ready(ctx)
}

// ready waits until the server answers.
func (t *target) ready(ctx context.Context) error {
	c, closeConn, err := t.dial()
	if err != nil {
		return err
	}
	defer closeConn()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := c.GetActive(ctx, &pb.Local{}, grpc.WaitForReady(true)); err != nil {
		text, _ := os.ReadFile(filepath.Join(t.dir, "log")) // best effort, for the message
		return fmt.Errorf("cannot reach %s: %w\n%s", t.name, err, text)
	}
	return nil
}

func (t *target) dial() (pb.URLFrontierClient, func(), error) {
	conn, err := grpc.NewClient(t.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return pb.NewURLFrontierClient(conn), func() { _ = conn.Close() }, nil
}

// stop ends the server and removes what it wrote.
func (t *target) stop() error {
	err := t.cmd.Process.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if e := t.cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	}
	t.release()
	return errors.Join(err, os.RemoveAll(t.dir))
}

// cpu returns the processor time the server has used.
func (t *target) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peakMB returns the greatest resident memory so far.
func (t *target) peakMB() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid)) // 0 where there is no /proc
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb / 1024
		}
	}
	return 0
}

// diskMB returns the size of what the server wrote.
func (t *target) diskMB() int {
	var sum int64
	_ = filepath.WalkDir(t.dir, func(_ string, d os.DirEntry, err error) error { // files come and go
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return int(sum >> 20)
}
