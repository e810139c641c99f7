//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/freeport"
)

// The tokens of the client and of attackers that have one.
const (
	honestToken   = "honest-0123456789abcdef"
	attackerToken = "attacker-0123456789abcdef"
)

// daemon is the daemon that is attacked.
type daemon struct {
	cmd              *exec.Cmd
	dir, grpc, http_ string
	release          func()
}

func startDaemon(ctx context.Context, binary string) (*daemon, error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return nil, err
	}
	addrs, release, err := freeport.Take(ctx, 2)
	if err != nil {
		return nil, err
	}
	d := &daemon{dir: dir, grpc: addrs[0], http_: addrs[1], release: release}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("write "+honestToken+"\nwrite "+attackerToken+"\n"), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d.cmd = exec.CommandContext(ctx, binary, "serve", "--db", filepath.Join(dir, "db"), "--grpc", d.grpc, "--http", d.http_,
		"--tokens", tokens, "--delay", "0", "--log-level", "warn")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	d.cmd.WaitDelay = 30 * time.Second
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	return d, d.ready(ctx)
}

func (d *daemon) ready(ctx context.Context) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get("http://" + d.http_ + "/readyz")
		if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			text, _ := os.ReadFile(filepath.Join(d.dir, "log")) // best effort, for the message
			return fmt.Errorf("cannot reach the daemon: %w\n%s", err, text)
		}
	}
}

// stop ends the daemon. One that an attack keeps from ending in time is killed.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	killed := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer killed.Stop()
	var exit *exec.ExitError
	err := d.cmd.Wait()
	if errors.As(err, &exit) {
		text, _ := os.ReadFile(filepath.Join(d.dir, "log")) // likewise
		err = fmt.Errorf("the daemon ended: %w\n%.2000s", err, text)
	}
	d.release()
	return errors.Join(err, os.RemoveAll(d.dir))
}

// What fill puts in: URLs for the client to lease, and large ones for attackers to lease.
const (
	honestURLs = 30_000
	largeURLs  = 1_000
	largeBytes = 60_000
)

func (d *daemon) fill(ctx context.Context) error {
	var b bytes.Buffer
	for i := range honestURLs {
		fmt.Fprintf(&b, "{\"url\":\"http://h%d.example/%d\",\"crawl\":\"honest\"}\n", i, i)
	}
	if err := d.post(ctx, "/v1/urls?brief", &b); err != nil {
		return err
	}
	meta := strings.Repeat("m", largeBytes)
	for i := range largeURLs {
		fmt.Fprintf(&b, "{\"url\":\"http://l%d.example/\",\"crawl\":\"large\",\"metadata\":{\"m\":[%q]}}\n", i, meta)
	}
	return d.post(ctx, "/v1/urls?brief", &b)
}

func (d *daemon) post(ctx context.Context, path string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+d.http_+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+honestToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("got %s: %.200s", resp.Status, answer)
	}
	return err
}

// resetPeak begins the measurement of the daemon's peak memory.
func (d *daemon) resetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", d.cmd.Process.Pid), []byte("5"), 0) // else the peak is of all its life
}

// peakMB returns the largest resident memory since.
func (d *daemon) peakMB() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid)) // 0 where it has ended
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb / 1024
		}
	}
	return 0
}
