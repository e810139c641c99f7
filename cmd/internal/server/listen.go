package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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

func (s *Server) listenHealth(ctx context.Context) error {
	lc := net.ListenConfig{Control: admit.Control}
	l, err := lc.Listen(ctx, "tcp", s.cfg.HealthAddr)
	if err != nil {
		return fmt.Errorf("cannot listen on --health %s: %w", s.cfg.HealthAddr, err)
	}
	s.healthL = admit.Listen(l, admit.Connections{Max: maxProbes, WriteTimeout: s.patience})
	return nil
}

// serveHealth answers probes until the server has drained, so that they learn of it.
func (s *Server) serveHealth() error {
	if err := s.healthHTTP.Serve(s.healthL); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve health: %w", err)
	}
	return nil
}

// checkHealthAddress returns an error unless address is host:port. Every host is allowed: the
// answers reveal only whether the daemon works.
func checkHealthAddress(address string) error {
	if address == "" || address == "off" {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("cannot listen; got --health %q; want host:port: %w", address, err)
	}
	return nil
}

// maxProbes bounds the open connections of Config.HealthAddr. A new one ends the oldest.
const maxProbes = 64

// Check returns every error that would keep a server of this configuration
// from starting, except those of listening on its ports.
func (c Config) Check(ctx context.Context) error {
	c = c.withDefaults()
	errs := []error{checkAddress(ctx, "grpc", c.GRPCAddr, c.TLS.enabled(), c.InsecurePublic)}
	if c.HTTPAddr != "off" {
		errs = append(errs, checkAddress(ctx, "http", c.HTTPAddr, c.TLS.enabled(), c.InsecurePublic))
	}
	errs = append(errs, checkHealthAddress(c.HealthAddr), checkHosts(c.HTTPHosts))
	_, err := loadKeyring(c.TLS)
	errs = append(errs, err)
	_, err = loadTokens(c.TokensFile)
	errs = append(errs, err)
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxMessage", int64(c.MaxMessage)}, {"MaxConnections", int64(c.MaxConnections)}, {"MaxStreams", int64(c.MaxStreams)},
		{"MaxCalls", int64(c.MaxCalls)}, {"MaxURL", int64(c.MaxURL)}, {"MaxMetadata", int64(c.MaxMetadata)}, {"MaxInHand", c.MaxInHand},
	} {
		if limit.value <= 0 {
			errs = append(errs, fmt.Errorf("cannot serve; got %s %d; want more than 0", limit.name, limit.value))
		}
	}
	return errors.Join(errs...)
}
