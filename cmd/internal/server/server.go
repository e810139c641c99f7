// Package server is the frontier daemon: it serves one [frontier.Frontier] by the URLFrontier protocol over
// gRPC, and by an HTTP interface.
//
// The server has no crawling policy of its own. It adds what a network service needs: it collects single messages
// into batches, so that they share a durable commit; it bounds the resources of every client; it
// checks tokens; it exports metrics; and it drains before it ends. When it answers OK, the URL is synced
// to disk.
//
// The server enforces its bounds by not reading. TCP slows a client that sends faster
// than the disk writes, or that does not read its answers. For each stream the server buffers at most
// a window of items, one message that is not decoded yet, and the buffers of the transport.
// Config.MaxInHand bounds the decoded items of all clients together. Writes are refused only if
// the disk is nearly full. While several clients work, each has few URLs in progress (turns, in admission).
//
// It consists of rooms, from the lowest up. Each has a type that embeds the one below, so that nothing reaches upwards; a
// test holds the files to them.
//
//	gate       who calls, and what that client may do and how much: config, access (tokens, scopes, rates, certificates), admission
//	           (places, memory, turns), counters
//	service    the frontier as calls reach it: guard (crawls of a token), offers (from messages and lines to the
//	           frontier; decode reads messages), inbox (from streams to batches), leases, settings (of queues and what they make of their states, the pause of all, what is
//	           forgotten), storewatch
//	metrics    /metrics, the curves of an hour
//	httpAPI    the HTTP interface: routes with what openapi.json says of them, bodies, lines, the dashboard
//	grpcAPI    the calls of URLFrontier
//	Server     its life: listen, serve, drain; and Local, the same handlers for a command on a store
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/async"
)

// Server serves one frontier. Make it with New, then Listen, then Serve once. It owns the life of what it
// embeds, see above.
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
	bounds := admit.Connections{Max: s.cfg.MaxConnections}
	if s.tokens != nil { // at most an eighth are of clients that sent none yet
		bounds.Strangers, bounds.Newcomers = max(1, bounds.Max/8), s.admission.newcomers
	}
	var err error
	if s.grpcL, err = s.listen(ctx, "grpc", s.cfg.GRPCAddr, bounds); err == nil && s.cfg.HTTPAddr != "off" {
		s.httpL, err = s.listen(ctx, "http", s.cfg.HTTPAddr, bounds)
	}
	if err == nil && s.cfg.HealthAddr != "off" {
		s.healthL, err = s.listen(ctx, "health", s.cfg.HealthAddr, admit.Connections{Max: maxProbes})
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
	s.background.Go(func() { s.cfg.Evidence.Run(watching) })
	failed := make(chan error, 3)
	serve := func(what string, do func() error) {
		go func() {
			if err := do(); err != nil && !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("cannot serve %s: %w", what, err)
			}
		}()
	}
	serve("gRPC", func() error { return s.grpc.Serve(s.grpcL) })
	if s.httpL != nil && s.keys != nil {
		s.http.TLSConfig = s.keys.config("h2", "http/1.1")
		serve("HTTP", func() error { return s.http.ServeTLS(s.httpL, "", "") })
	} else if s.httpL != nil {
		serve("HTTP", func() error { return s.http.Serve(s.httpL) })
	}
	if s.healthL != nil { // until the server has drained, so that probes learn of it
		serve("health", func() error { return s.healthHTTP.Serve(s.healthL) })
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

// Warnings lists faults that do not keep the server from starting: a certificate outside its validity, a disk with less room than MinFree.
func (c *Config) Warnings() (list []string) {
	if cert, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile); err == nil { // else Check says why not
		now := time.Now()
		if from, to := cert.Leaf.NotBefore, cert.Leaf.NotAfter; now.Before(from) || now.After(to) {
			list = append(list, fmt.Sprintf("clients will refuse the certificate %s: it is valid from %s to %s", c.TLS.CertFile, timeText(from), timeText(to)))
		}
	}
	free, err := freeBytes(c.Dir)
	if errors.Is(err, fs.ErrNotExist) { // serve makes it
		free, err = freeBytes(filepath.Dir(c.Dir))
	}
	if err == nil && c.Dir != "" && free < c.MinFree {
		list = append(list, fmt.Sprintf("writes will be refused: the disk of %s has %d bytes free, less than the %d of --min-free", c.Dir, free, c.MinFree))
	}
	return list
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
	s.reloadFailed.Store(err != nil)
	s.endRevoked()
	return err
}

// beat shows signs of life until ctx ends, and adopts a pause that was set at another
// daemon.
func (s *Server) beat(ctx context.Context) {
	if s.cfg.Members == nil {
		return
	}
	for ctx.Err() == nil {
		if _, err := s.nodes(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot register this node, or list the others", "error", err)
		}
		if err := s.readPause(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot read whether the store is paused", "error", err)
		}
		_ = async.Sleep(ctx, beatEvery)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	if err := s.cfg.Members.Leave(last, s.Node()); err != nil {
		s.log.Warn("cannot unregister this node; the others count it as live until its registration expires", "error", err)
	}
}

// checkAddress refuses an address that others than this machine can reach,
// unless what goes over it is encrypted or the operator insists.
func checkAddress(ctx context.Context, flag, address string, encrypted, insist bool) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return fmt.Errorf("cannot listen; got --%s %q; want host:port, with a port from 1 to 65535: %w", flag, address, err)
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

// listen opens a TCP port with bounds.
func (s *Server) listen(ctx context.Context, flag, address string, bounds admit.Connections) (net.Listener, error) {
	lc := net.ListenConfig{Control: admit.Control}
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on --%s %s: %w", flag, address, err)
	}
	bounds.WriteTimeout = s.patience
	return admit.Listen(l, bounds), nil
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
	if c.HealthAddr != "off" { // any host: the answers reveal only whether the daemon works
		errs = append(errs, checkAddress(ctx, "health", c.HealthAddr, false, true))
	}
	errs = append(errs, checkHosts(c.HTTPHosts))
	_, err := loadKeyring(c.TLS)
	errs = append(errs, err)
	_, err = loadTokens(c.TokensFile)
	errs = append(errs, err)
	return errors.Join(errs...)
}

// drain ends the server in order. Health reports it first. Streams commit and
// answer the items they have read, and end. Other calls finish. Calls that remain
// after Config.Drain are cut off. A connection whose client doesn't answer gRPC's ping holds
// a drain up for 5 s, no longer than Config.Drain.
func (s *Server) drain() {
	began := time.Now()
	s.drainOnce.Do(func() { close(s.draining) })
	s.rpc.health.Shutdown()
	watchers := time.AfterFunc(linger, s.endWatches)
	defer watchers.Stop()
	s.log.Info("draining", "calls", s.admission.calls.Held())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	if s.httpL != nil {
		if err := s.http.Shutdown(ctx); err != nil {
			s.log.Warn("closed HTTP connections with unfinished requests", "error", err)
			_ = s.http.Close() // what Shutdown could not end
			s.endRequests()
			s.awaitHandlers()
		}
	}
	if wait(ctx, ended) != nil {
		s.log.Warn("closed gRPC connections with unfinished calls", "calls", s.admission.calls.Held())
	}
	s.grpc.Stop()
	<-ended
	s.log.Info("drained", "took", time.Since(began))
}

// drainPoll is how often a drain looks whether handlers still run, as net/http does. A WaitGroup would not do: a request that was
// accepted just before may begin while it is waited for.
const drainPoll = 5 * time.Millisecond

// awaitHandlers waits until no handler of an HTTP request runs: their connections are closed, but
// they may still use what the caller closes after Serve.
func (s *Server) awaitHandlers() {
	slow := time.AfterFunc(time.Second, func() { s.log.Warn("waiting for the handlers of HTTP requests whose connections were closed") })
	defer slow.Stop()
	for s.web.handlers.Load() > 0 {
		time.Sleep(drainPoll)
	}
}

// endRequests ends the HTTP requests that wait for something else than their connections,
// such as memory.
func (s *Server) endRequests() {
	for _, c := range s.admission.all() {
		if c.stream == nil {
			c.end(errDraining)
		}
	}
}

// endWatches ends the calls that only watch.
func (s *Server) endWatches() {
	for _, c := range s.admission.all() {
		if c.stream != nil && !isWork(c.method) {
			c.end(errDraining)
		}
	}
}
