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
	"path/filepath"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
)

// The tokens of the client and of attackers that have one.
const (
	honestToken   = "honest-0123456789abcdef"
	attackerToken = "attacker-0123456789abcdef"
)

// daemon is the daemon that is attacked.
type daemon struct {
	*measured.Server
	grpc, http_ string
}

func startDaemon(ctx context.Context, binary string, cpus measured.CPUs) (*daemon, error) {
	s, err := measured.Start(ctx, measured.Spec{
		Name:  "the daemon",
		Ports: 2,
		CPUs:  cpus,
		Command: func(dir string, addrs []string) ([]string, error) {
			tokens := filepath.Join(dir, "tokens")
			return []string{binary, "serve", "--db", filepath.Join(dir, "db"), "--grpc", addrs[0], "--http", addrs[1],
				"--tokens", tokens, "--delay", "0", "--log-level", "warn"}, os.WriteFile(tokens, []byte("write "+honestToken+"\nwrite "+attackerToken+"\n"), 0o600)
		},
		Ready: ready,
	})
	if err != nil {
		return nil, err
	}
	return &daemon{s, s.Addrs[0], s.Addrs[1]}, nil
}

func ready(ctx context.Context, s *measured.Server) error {
	for {
		resp, err := http.Get("http://" + s.Addrs[1] + "/readyz")
		if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
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
