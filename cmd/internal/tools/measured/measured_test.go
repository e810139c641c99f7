//go:build unix

package measured

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServer runs a command as a server: Start blocks until it is ready, and Stop ends it and
// removes its data.
func TestServer(t *testing.T) {
	spec := Spec{
		Name: "sleeper", Ports: 2,
		Command: func(dir string, addrs []string) ([]string, error) {
			return []string{"sh", "-c", "trap 'exit 0' TERM; echo started; touch " + filepath.Join(dir, "up") + "; while :; do sleep 0.05; done"}, nil
		},
		Ready: func(ctx context.Context, s *Server) error {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(s.Dir, "up")); err == nil {
					return nil
				}
			}
			return ctx.Err()
		},
	}
	s, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Addrs) != 2 || s.Addrs[0] == s.Addrs[1] {
		t.Errorf("got addresses %q; want two", s.Addrs)
	}
	if got := s.Log(); got != "started\n" {
		t.Errorf("got log %q; want its output", got)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("got %v of its directory; want none", err)
	}
}

// TestStartFails checks that a server that is never ready is an error with its log.
func TestStartFails(t *testing.T) {
	spec := Spec{
		Name: "mute", Ports: 1,
		Command: func(string, []string) ([]string, error) { return []string{"sh", "-c", "echo no config; exit 3"}, nil },
		Ready: func(_ context.Context, s *Server) error {
			for !strings.Contains(s.Log(), "no config") {
			}
			return context.DeadlineExceeded
		},
	}
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "no config") {
		t.Errorf("got error %v; want one with the log", err)
	}
}
