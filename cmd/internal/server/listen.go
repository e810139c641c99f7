package server

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// checkAddress refuses an address that others than this machine can reach,
// unless what goes over it is encrypted or the operator insists.
func checkAddress(ctx context.Context, flag, address string, encrypted, insist bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("cannot listen; got --%s %q; want host:port: %w", flag, address, err)
	}
	if encrypted || insist || isLoopback(ctx, host) {
		return nil
	}
	return fmt.Errorf("cannot listen on --%s %s in the clear; want a loopback address, --tls-cert and --tls-key, or --insecure-public", flag, address)
}

// isLoopback is true only if every address the host stands for is.
func isLoopback(ctx context.Context, host string) bool {
	if host == "" {
		return false // all interfaces
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", host)
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return false
		}
	}
	return err == nil && len(ips) > 0
}

// listen opens a TCP port. If the server has tokens, at most an eighth of its connections
// are of clients that sent none yet.
func (s *Server) listen(ctx context.Context, address string) (net.Listener, error) {
	lc := net.ListenConfig{Control: admit.Control}
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	bounds := admit.Connections{Max: s.cfg.MaxConnections, WriteTimeout: s.patience}
	if s.tokens != nil {
		bounds.Strangers = max(1, bounds.Max/8)
		bounds.Newcomers = s.admission.newcomers
	}
	return admit.Listen(l, bounds), nil
}
