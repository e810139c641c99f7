package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// probeTime is how long a daemon may take to answer.
const probeTime = 5 * time.Second

func newHealthCmd(a *app) *cobra.Command {
	var f daemonFlags
	var ready bool
	cmd := &cobra.Command{
		Use:   "health --daemon ADDR",
		Short: "Ask a running daemon whether it is healthy",
		Long: `Ask a running daemon whether it is healthy, for the health check of a container. The status is 0
if it is, and prints what the daemon says. It needs no token. If the daemon requires client
certificates, ask the address of serve --health.`,
		Example: `  firstseen health --daemon 127.0.0.1:7072
  firstseen health --daemon 127.0.0.1:7072 --ready`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			if !f.given() {
				return misusef("cannot ask a daemon; got no --daemon; want the host:port of its HTTP interface, or of its --health")
			}
			d, err := f.open()
			if err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			said, err := d.probe(cmd.Context(), path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, said)
			return err
		}),
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it takes work: not while it drains or its store does not answer")
	return cmd
}

// probe returns the answer of a health route, or an error if it is not 200.
func (d *client) probe(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return "", d.unanswered(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return "", d.unanswered(err)
	}
	said := strings.TrimSpace(string(text))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the daemon at %s is not healthy: %s", d.base, visible(said))
	}
	return said, nil
}
