// Package measured runs a server as a separate process for a benchmark, and reads its processor
// time, memory and disk space.
package measured

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/freeport"
)

// Server is a server under measurement. It keeps its data in a temporary directory.
type Server struct {
	Name  string
	Dir   string
	Addrs []string // that it listens on

	spec    Spec
	args    []string
	cmd     *exec.Cmd
	spent   time.Duration // by processes before
	peak    int           // MB, of processes before
	release func()        // frees the addresses
}

// Spec describes a server.
type Spec struct {
	Name  string
	Ports int
	// Command returns the command that serves on the addresses with data in dir.
	Command func(dir string, addrs []string) ([]string, error)
	// Ready blocks until the server answers.
	Ready func(context.Context, *Server) error
	// CPUs pins the server to these processors. The default is no pinning.
	CPUs CPUs
}

const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
	// exitedBySIGTERM is the exit code of Java after SIGTERM.
	exitedBySIGTERM = 128 + 15
)

// Start starts a server and blocks until it answers.
func Start(ctx context.Context, spec Spec) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "measured-")
	if err != nil {
		return nil, err
	}
	s := &Server{Name: spec.Name, Dir: dir, spec: spec, release: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot start %s: %w\n%s", spec.Name, err, s.Log()), s.Stop())
		}
	}()
	if s.Addrs, s.release, err = freeport.Take(ctx, spec.Ports); err != nil {
		return s, err
	}
	if s.args, err = spec.Command(dir, s.Addrs); err != nil {
		return s, err
	}
	return s, s.run(ctx)
}

// Again kills the server as a crash would, starts it again, and blocks until it answers.
func (s *Server) Again(ctx context.Context) error {
	s.spent, s.peak = s.CPU(), s.PeakMB()
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("cannot kill %s: %w", s.Name, err)
	}
	_ = s.cmd.Wait() // its error is that it was killed
	return s.run(ctx)
}

// run starts the server's process, and blocks until it answers.
func (s *Server) run(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.spec.Ready(ctx, s)
}

func (s *Server) start(ctx context.Context) error {
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, s.args[0], s.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	if err := s.spec.CPUs.start(cmd); err != nil {
		return err
	}
	s.cmd = cmd
	return nil
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "log") }

// Log returns the beginning of what the server logged.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.logFile()) // best effort, for messages
	return string(text[:min(len(text), 2000)])
}

// Stop ends the server and removes its directory. It kills a server that does not end within
// a minute, and then returns an error.
func (s *Server) Stop() error {
	var err error
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		late := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
		err = s.cmd.Wait()
		code := s.cmd.ProcessState.ExitCode()
		switch {
		case !late.Stop():
			err = fmt.Errorf("%s did not end within %v of SIGTERM: %w", s.Name, stopTimeout, err)
		case code == exitedBySIGTERM:
			err = nil
		case err != nil:
			err = fmt.Errorf("%s ended: %w\n%s", s.Name, err, s.Log())
		}
	}
	s.release()
	return errors.Join(err, os.RemoveAll(s.Dir))
}

// CPU returns the processor time the server has used, 0 where there is no /proc.
func (s *Server) CPU() time.Duration {
	text := s.proc("stat")
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return s.spent
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return s.spent + time.Duration(user+system)*10*time.Millisecond
}

const (
	// restShare is how much of a processor a server uses that has nothing to do, looked at for restLook
	// at a time, and restTimeout is how long it may take until then.
	restShare, restLook, restTimeout = 0.05, 500 * time.Millisecond, 20 * time.Second
)

// Rest blocks until the server has ended what the calls before left for later, as compactions, but not
// for longer than 20 s.
func (s *Server) Rest(ctx context.Context) {
	for end := time.Now().Add(restTimeout); time.Now().Before(end) && ctx.Err() == nil; {
		before, began := s.CPU(), time.Now()
		_ = async.Sleep(ctx, restLook)
		if (s.CPU() - before).Seconds() < restShare*time.Since(began).Seconds() {
			return
		}
	}
}

// PeakMB returns the largest resident memory, 0 where there is no /proc.
func (s *Server) PeakMB() int {
	for line := range strings.Lines(s.proc("status")) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return max(s.peak, kb/1024)
		}
	}
	return s.peak
}

// ResetPeak makes PeakMB the largest from now on, on Linux.
func (s *Server) ResetPeak() {
	s.peak = 0
	_ = os.WriteFile(s.procFile("clear_refs"), []byte("5"), 0) // else it is the peak since the start
}

func (s *Server) proc(name string) string {
	text, _ := os.ReadFile(s.procFile(name)) // it may have ended
	return string(text)
}

func (s *Server) procFile(name string) string {
	return fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, name)
}

// DiskMB returns the size of what the server wrote to its directory.
func (s *Server) DiskMB() int { return DiskMB(s.Dir) }

// DiskMB returns the size of the files below a directory.
func DiskMB(dir string) int {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files come and go
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return int(sum >> 20)
}
