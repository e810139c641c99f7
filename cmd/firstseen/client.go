package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
)

// Commands that look at a crawl or steer it send the requests of the HTTP interface: to a running daemon, or, for a
// store that none has open, to the daemon's handlers in this process. So each command is written once, and says the
// same of a store with and without a daemon.

// client sends requests.
type client struct {
	base, token string
	http        *http.Client
	daemon      bool // not a store
}

// place is where a command finds a crawl: one of --db, --redis and --daemon.
type place struct {
	db     string
	redis  redisFlags
	daemon daemonFlags
	crawl  string
	reads  bool // the command only reads: the store is opened for that
	// fresh prepares a store that the command may create, with a frontier if the store alone does not say how its keys are made. The
	// default, nil, is that the store must exist.
	fresh func(store.Store, *slog.Logger) (*frontier.Frontier, error)
}

func (p *place) add(fs *pflag.FlagSet) {
	fs.StringVar(&p.db, "db", "", "directory of the store")
	p.redis.add(fs)
	p.daemon.add(fs)
	fs.StringVar(&p.crawl, "crawl", store.DefaultCrawl, "crawl that is meant")
}

// check returns an error unless one place is named.
func (p *place) check() error {
	var given []string
	for _, flag := range []struct {
		name string
		is   bool
	}{{"--db", p.db != ""}, {"--redis", p.redis.given()}, {"--daemon", p.daemon.given()}} {
		if flag.is {
			given = append(given, flag.name)
		}
	}
	switch len(given) {
	case 0:
		return misusef("no store is named: give --db DIR, --redis ADDR or, if a daemon has it open, --daemon ADDR")
	case 1:
		return nil
	}
	return misusef("%s are places of different stores: give one of them", strings.Join(given, " and "))
}

// openStore opens the store of --db or --redis. The text of what the command drops is kept, also if the store's daemons
// run with --keep-urls=false: find lists it, and requeue takes the drop back.
func (p *place) openStore(ctx context.Context, a *app) (s store.Store, err error) {
	if p.redis.given() {
		return p.redis.open(ctx, a.log, redisstore.Options{MustExist: p.fresh == nil, KeepURLs: true})
	}
	mode := pebblestore.OpenExisting
	switch {
	case p.reads:
		mode = pebblestore.OpenReadOnly
	case p.fresh != nil:
		mode = pebblestore.OpenOrCreate
	}
	if s, err = pebblestore.Open(p.db, pebblestore.Options{Mode: mode, KeepURLs: true, Logger: a.log}); errors.Is(err, store.ErrLocked) {
		err = fmt.Errorf("%w; if its daemon runs, use --daemon with the address of its HTTP interface", err)
	}
	return s, err
}

// open returns a client of the place. The caller must call end.
func (p *place) open(ctx context.Context, a *app) (c *client, end func() error, err error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	if p.daemon.given() {
		c, err = p.daemon.open()
		return c, func() error { return nil }, err
	}
	s, err := p.openStore(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	warnings := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var front *frontier.Frontier
	if p.fresh != nil {
		if front, err = p.fresh(s, warnings); err != nil {
			return nil, nil, errors.Join(err, s.Close())
		}
	}
	local, err := server.OpenLocal(ctx, s, front, p.reads, warnings)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	l := &inProcess{conns: make(chan net.Conn), closed: make(chan struct{})}
	answering := &http.Server{Handler: local}
	go func() { _ = answering.Serve(l) }() // until it is shut down
	c = &client{base: "http://localhost", http: &http.Client{Transport: &http.Transport{DialContext: l.dial}}}
	end = func() error {
		c.http.CloseIdleConnections()
		cut, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // a call that Ctrl-C cut off ends by itself
		defer cancel()
		_ = answering.Shutdown(cut)
		return errors.Join(local.Close(ctx), s.Close())
	}
	return c, end, nil
}

// onCrawl adds the flags of a place to a command, and has it call do with a client.
func (p *place) onCrawl(a *app, cmd *cobra.Command, do func(ctx context.Context, c *client, args []string) error) {
	p.add(cmd.Flags())
	cmd.RunE = running(func(cmd *cobra.Command, args []string) error {
		c, end, err := p.open(cmd.Context(), a)
		if err != nil {
			return err
		}
		err = do(cmd.Context(), c, args)
		return errors.Join(err, end())
	})
}

// daemonFlags name a running daemon.
type daemonFlags struct{ addr, tokenFile, ca string }

func (f *daemonFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.addr, "daemon", "", "host:port of the HTTP interface of a running daemon, or https://host:port")
	fs.StringVar(&f.tokenFile, "token-file", "", "file that has the token for the daemon, and nothing else")
	fs.StringVar(&f.ca, "ca", "", "PEM file of the CA certificates that the daemon's certificate is checked against; default: those of this machine")
}

func (f *daemonFlags) given() bool { return f.addr != "" }

func (f *daemonFlags) open() (*client, error) {
	base := f.addr
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, misusef("--daemon: %q is no address of a daemon; give host:port or https://host:port", f.addr)
	}
	c := &client{base: u.Scheme + "://" + u.Host, daemon: true}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the token: %w", err)
		}
		c.token = strings.TrimSpace(string(text))
		if strings.ContainsAny(c.token, " \t\n") {
			return nil, misusef("--token-file: %s has several words; it must have the token alone", f.tokenFile)
		}
	}
	transport := &http.Transport{Proxy: nil, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	transport.TLSClientConfig.RootCAs, err = rootsOf("--ca", f.ca)
	c.http = &http.Client{Transport: transport}
	return c, err
}

// rootsOf reads the CA certificates in the file of a setting; without one it returns nil, for those of this machine.
func rootsOf(setting, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read CA certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, misusef("%s: %s has no certificate in PEM form", setting, file)
	}
	return roots, nil
}

// get asks for something.
func (c *client) get(ctx context.Context, path string, query url.Values, answer any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.ask(ctx, http.MethodGet, path, nil, answer)
}

// post has something done.
func (c *client) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, path, text, answer)
}

func (c *client) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("cannot read the answer of the daemon: %w", err)
	}
	return nil
}

// do returns an answer that is no refusal. The caller must close its body.
func (c *client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	resp, err := c.send(ctx, method, path, body)
	if err == nil && resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, err
}

// send returns any answer.
func (c *client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unanswered(err)
	}
	return resp, nil
}

// unanswered says why a request got no answer, and what to check.
func (c *client) unanswered(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // without the address, which is in the message
	}
	switch {
	case !c.daemon:
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("cannot reach the daemon at %s: %w; is it running, with --http on this address?", c.base, syscall.ECONNREFUSED)
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Errorf("cannot ask the daemon at %s: its answer is no HTTP; want the port of its HTTP interface (--http, 7072 by default)", c.base)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("cannot ask the daemon at %s: it closed the connection: it ended, or this is not the port of its HTTP interface (--http, 7072 by default)", c.base)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("cannot ask the daemon at %s: %w; give --ca with the certificate of that authority", c.base, err)
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("cannot ask the daemon at %s: it has no TLS; use http://", c.base)
	}
	return fmt.Errorf("cannot ask the daemon at %s: %w", c.base, err)
}

// refused returns a refusal as an error. What a request names wrongly is misuse of the command that made it.
func (c *client) refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot read the answer of the daemon: %w", err)
	}
	var fault wire.Error
	if json.Unmarshal(text, &fault) != nil || fault.Error.Message == "" {
		fault.Error.Message = strings.TrimSpace(fmt.Sprintf("%.100s", text))
	}
	if strings.Contains(fault.Error.Message, "HTTP request to an HTTPS server") { // as net/http says it
		fault.Error.Message = "it has TLS; use https://"
	}
	err = errors.New(fault.Error.Message)
	if c.daemon {
		hint := ""
		if resp.StatusCode == http.StatusUnauthorized {
			hint = "; give --token-file with a file that has such a token"
		}
		err = fmt.Errorf("the daemon refused (%d): %w%s", resp.StatusCode, err, hint)
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest {
		err = misuse{err}
	}
	return err
}

// crawls lists the crawls that a flag names; "*" is all of them. One that is not there is misuse: a name misspelt
// must not look like a crawl without URLs. A new store has no crawl, and the default one is no mistake there.
func (c *client) crawls(ctx context.Context, name string) ([]string, error) {
	var st wire.Stats
	if err := c.get(ctx, "/v1/stats", url.Values{"crawl": {"*"}}, &st); err != nil {
		return nil, err
	}
	if name == "*" {
		return st.Crawls, nil
	}
	for _, crawl := range st.Crawls {
		if name == crawl || strings.HasPrefix(name, crawl+"|") { // as the store names one with a profile of its own
			return []string{crawl}, nil
		}
	}
	if name == store.DefaultCrawl && len(st.Crawls) == 0 {
		return []string{name}, nil
	}
	var unnamed misuse
	if err := c.get(ctx, "/v1/stats", url.Values{"crawl": {name}}, &st); err != nil && !errors.As(err, &unnamed) {
		return nil, err // a token may not look at it, whether it is there or not
	}
	return nil, misusef("cannot find crawl %q in the store, which has %s", name, nameList(st.Crawls, "no crawl", strconv.Quote))
}

// crawlsOf lists the crawls that a flag names, and returns an error unless one of them has the queue, for the same reason. No name is no
// mistake.
func (c *client) crawlsOf(ctx context.Context, name, queue string) ([]string, error) {
	crawls, err := c.crawls(ctx, name)
	if err != nil || queue == "" {
		return crawls, err
	}
	for _, crawl := range crawls {
		var page wire.Queues
		if err := c.get(ctx, "/v1/queues", url.Values{"crawl": {crawl}, "queue": {queue}}, &page); err != nil {
			return nil, err
		}
		if len(page.Queues) > 0 {
			return crawls, nil
		}
	}
	return nil, misusef("cannot find queue %q in crawl %s", queue, nameList(crawls, "no crawl", strconv.Quote))
}

// inProcess is a listener whose clients are in this process: a server behind it answers while it is read, also lists as long as a
// crawl, as one behind a port does. The bufconn of grpc was tried: a deadline of it that was taken back may still end a read.
type inProcess struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *inProcess) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *inProcess) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *inProcess) Addr() net.Addr { return &net.UnixAddr{} }

func (l *inProcess) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

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
			d.token = "" // a health route needs none, and may be in the clear
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
func (c *client) probe(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return "", c.unanswered(err)
	}
	said := strings.TrimSpace(string(text))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the daemon at %s is not healthy: %s", c.base, visible(said))
	}
	return said, nil
}
