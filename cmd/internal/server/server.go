package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/firstseen/firstseen/frontier"
)

// Server serves one frontier. Make it with New, then Listen, then Serve once. It owns the life of what it
// embeds, see doc.go.
type Server struct {
	*metrics
	web  *httpAPI
	rpc  *grpcAPI
	keys *keyring

	grpc       *grpc.Server
	http       *http.Server
	grpcL      net.Listener
	httpL      net.Listener
	healthHTTP *http.Server // of Config.HealthAddr
	healthL    net.Listener // nil if there is none
	drainOnce  sync.Once
	stopped    chan struct{} // closed when Serve returns
	background sync.WaitGroup
}

// New makes a server for a frontier, which stays the caller's. It takes no
// port yet.
func New(ctx context.Context, f *frontier.Frontier, cfg Config) (*Server, error) {
	err := cfg.Check(ctx)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m := newMetrics(newService(cfg, guard{own: f, reader: f}))
	s := &Server{metrics: m, stopped: make(chan struct{})}
	if s.keys, err = loadKeyring(cfg.TLS); err != nil {
		return nil, err
	}
	if s.tokens, err = loadTokens(cfg.TokensFile); err != nil {
		return nil, err
	}
	s.f.tokens = s.tokens
	if err := s.readPause(ctx); err != nil {
		return nil, err
	}
	s.registerBackups(ctx)
	s.registerGauges()
	s.rpc = &grpcAPI{service: m.service, health: health.NewServer(), keys: s.keys}
	s.grpc = s.rpc.newGRPC()
	s.web = newHTTPAPI(m, s.keys != nil)
	s.http = s.web.newHTTP()
	s.healthHTTP = s.web.newHealth()
	return s, nil
}

// Listen takes the ports. Clients may connect from then on, and are served by
// Serve.
func (s *Server) Listen(ctx context.Context) error {
	var err error
	if s.grpcL, err = s.listen(ctx, s.cfg.GRPCAddr); err == nil && s.cfg.HTTPAddr != "off" {
		s.httpL, err = s.listen(ctx, s.cfg.HTTPAddr)
	}
	if err == nil && s.cfg.HealthAddr != "off" {
		err = s.listenHealth(ctx)
	}
	if err != nil {
		return errors.Join(err, s.closeListeners())
	}
	s.cfg.Node = cmp.Or(s.cfg.Node, s.GRPCAddr())
	return nil
}

func (s *Server) closeListeners() error {
	var errs []error
	for _, l := range []net.Listener{s.grpcL, s.httpL, s.healthL} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// GRPCAddr returns the address of the gRPC interface after Listen.
func (s *Server) GRPCAddr() string { return s.grpcL.Addr().String() }

// HTTPAddr returns the address of the HTTP interface after Listen, "" if there
// is none.
func (s *Server) HTTPAddr() string { return addressOf(s.httpL) }

// HealthAddr returns the address that answers probes alone after Listen, "" if there is
// none.
func (s *Server) HealthAddr() string { return addressOf(s.healthL) }

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Serve serves until ctx ends, then drains: it commits and answers the items it has read,
// ends streams with UNAVAILABLE, and accepts no connection. It returns nil after an
// orderly end. If the store fails, Serve also drains, and returns an error that wraps
// store.ErrFailed.
func (s *Server) Serve(ctx context.Context) error {
	defer close(s.stopped)
	s.warn()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	s.background.Go(func() { s.disk.watch(watching) })
	s.background.Go(func() { s.watchStore(watching) })
	s.background.Go(func() { s.endStalled(watching) })
	s.background.Go(func() { s.record(watching) })
	s.background.Go(func() { s.beat(watching) })
	s.background.Go(func() { s.judgeNowAndThen(watching) })
	failed := make(chan error, 3)
	go func() { failed <- s.serveGRPC() }()
	if s.httpL != nil {
		go func() { failed <- s.serveHTTP() }()
	}
	if s.healthL != nil {
		go func() { failed <- s.serveHealth() }()
		defer func() { _ = s.healthHTTP.Close() }() // its handlers use nothing that is closed
	}
	s.log.Info("serving", "grpc", s.GRPCAddr(), "http", s.HTTPAddr(), "health", s.HealthAddr(), "tls", s.keys != nil, "tokens", s.tokens != nil)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	case <-s.store.failed:
		err = s.store.failure()
		s.log.Error("the store failed", "error", err)
	}
	s.drain()
	unwatch()
	s.background.Wait()
	return err
}

func (s *Server) serveGRPC() error {
	if err := s.grpc.Serve(s.grpcL); err != nil {
		return fmt.Errorf("cannot serve gRPC: %w", err)
	}
	return nil
}

func (s *Server) serveHTTP() error {
	serve := func() error { return s.http.Serve(s.httpL) }
	if s.keys != nil {
		s.http.TLSConfig = s.keys.config("h2", "http/1.1")
		serve = func() error { return s.http.ServeTLS(s.httpL, "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve HTTP: %w", err)
	}
	return nil
}

// warn logs what an operator may not have meant.
func (s *Server) warn() {
	for _, port := range []struct{ name, address string }{{"grpc", s.GRPCAddr()}, {"http", s.HTTPAddr()}} {
		host, _, err := net.SplitHostPort(port.address)
		if err != nil || isLoopback(context.Background(), host) { // there is no HTTP, or
			continue
		}
		if s.keys == nil {
			s.log.Warn("serving without TLS on an address that other machines can reach", port.name, port.address)
		}
		if s.tokens == nil && s.cfg.TLS.ClientCAFile == "" {
			s.log.Warn("serving without tokens or client certificates on an address that other machines can reach: every client may do everything", port.name, port.address)
		}
	}
}

// Reload renews tokens, certificates and what Config.Reload does. What can't
// be renewed stays as it was and is in the error; the others are renewed.
func (s *Server) Reload(ctx context.Context) error {
	err := errors.Join(s.tokens.reload(), s.keys.reload(), s.cfg.Reload(ctx))
	s.endRevoked()
	return err
}

// beat shows signs of life until ctx ends, and adopts a pause that was set at another
// daemon.
func (s *Server) beat(ctx context.Context) {
	if s.cfg.Members == nil {
		return
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := s.nodes(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot register this node, or list the others", "error", err)
		}
		if err := s.readPause(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot read whether the store is paused", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	if err := s.cfg.Members.Leave(last, s.Node()); err != nil {
		s.log.Warn("cannot unregister this node; the others count it as live until its registration expires", "error", err)
	}
}
