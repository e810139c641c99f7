package server

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// identify sets the client of a call by its Authorization header, or by its address where
// no token is asked for. The error refuses the call.
func (s *gate) identify(c *call, header string, address admit.Client) error {
	c.client, c.from = address, address
	if s.tokens == nil || c.need == Open {
		return nil
	}
	digest, have := s.tokens.find(header)
	if have != nil {
		c.token, c.client = digest, admit.ByToken(digest)
	}
	var err error
	switch {
	case have != nil && have.may(c.access):
		return nil
	case have != nil && have.scope >= c.need:
		err = status.Errorf(codes.PermissionDenied, "cannot call %.200s with a token for some crawls; it concerns all", c.method)
	case have != nil:
		err = status.Errorf(codes.PermissionDenied, "cannot call %.200s; got a token of scope %s; want scope %s", c.method, have.scope, c.need)
	case header == "":
		err = status.Errorf(codes.Unauthenticated, "cannot call %.200s; got no token; want a bearer token of scope %s", c.method, c.need)
	default:
		err = status.Errorf(codes.Unauthenticated, "cannot call %.200s; got an unknown token; want a bearer token of scope %s", c.method, c.need)
	}
	s.count.unauthorized.WithLabelValues(status.Code(err).String()).Inc()
	s.failures.log(s.log, address, err)
	return err
}

// failureLog logs that tokens were refused, with the address alone: an address once a
// minute, and at most so many addresses. Safe for concurrent use; the zero value is ready.
type failureLog struct {
	mu     sync.Mutex
	began  time.Time
	logged map[admit.Client]bool
	more   int // failures that were not logged
}

const (
	failuresEvery = time.Minute
	mostFailures  = 16
)

func (f *failureLog) log(log *slog.Logger, from admit.Client, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.began) >= failuresEvery {
		if f.more > 0 {
			log.Warn("further calls were refused because of their tokens", "calls", f.more, "since", f.began)
		}
		f.began, f.logged, f.more = now, make(map[admit.Client]bool), 0
	}
	if f.logged[from] || len(f.logged) == mostFailures {
		f.more++
		return
	}
	f.logged[from] = true
	log.Warn("a call was refused because of its token", "address", from.Address(), "reason", fmt.Sprint(status.Code(err)))
}

// minToken is the least length of a token: 16 random letters and digits are 95
// bits.
const minToken = 16

// tokens answers what a bearer token allows. It keeps only digests of
// tokens, so that no log, dump or timing of comparisons reveals one. Safe for
// concurrent use.
type tokens struct {
	file string
	set  atomic.Pointer[grants]
}

// grants is what each token allows, by the digest of the token.
type grants map[[sha256.Size]byte]*grant

// loadTokens reads a token file: a scope, a token and what bounds it a line, separated by
// blanks; empty lines and lines that begin with # are skipped. For an
// empty name it returns nil, which allows everything.
func loadTokens(file string) (*tokens, error) {
	if file == "" {
		return nil, nil
	}
	t := &tokens{file: file}
	return t, t.reload()
}

// reload reads the file again; on error the tokens stay as they were.
func (t *tokens) reload() error {
	if t == nil {
		return nil
	}
	f, err := os.Open(t.file)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot read tokens: %w; let the daemon's user read the file, or under systemd pass it with LoadCredential= (deploy/credentials.conf)", err)
	}
	if err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("cannot use tokens of %s; got mode %v; want no access for others (chmod o=)", t.file, info.Mode().Perm())
	}
	set := make(grants)
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		if err := addToken(set, scan.Text()); err != nil {
			return fmt.Errorf("%s line %d: %w", t.file, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	if len(set) == 0 {
		return fmt.Errorf("cannot use tokens of %s; got none; want a line such as: write <token>", t.file)
	}
	if before := t.set.Load(); before != nil {
		for digest, g := range set {
			if was := (*before)[digest]; was != nil {
				g.adds, g.leases = g.adds.keep(was.adds), g.leases.keep(was.leases)
			}
		}
	}
	t.set.Store(&set)
	return nil
}

// addToken never puts a token into an error.
func addToken(set grants, line string) error {
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return nil
	}
	if len(fields) < 2 {
		return fmt.Errorf("cannot read token; got %d words; want a scope and a token", len(fields))
	}
	scope, err := parseScope(fields[0])
	if err != nil {
		return err
	}
	if len(fields[1]) < minToken {
		return fmt.Errorf("cannot use token; got %d bytes; want at least %d", len(fields[1]), minToken)
	}
	digest := sha256.Sum256([]byte(fields[1]))
	if set[digest] != nil {
		return errors.New("cannot use token; an earlier line has the same token")
	}
	g := &grant{scope: scope, name: "token-" + hex.EncodeToString(digest[:4])}
	for _, word := range fields[2:] {
		if err := g.set(word); err != nil {
			return err
		}
	}
	set[digest] = g
	return nil
}

// find returns the digest of the token in an Authorization header, and its grant: nil
// without a token, and for a wrong one.
func (t *tokens) find(header string) (digest [sha256.Size]byte, have *grant) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return digest, nil
	}
	digest = sha256.Sum256([]byte(strings.TrimSpace(token)))
	return digest, t.of(digest)
}

// of returns what the token of a digest allows, nil for an unknown one.
func (t *tokens) of(digest [sha256.Size]byte) *grant { return (*t.set.Load())[digest] }

// Scope is what a token allows. Each scope includes those before it.
type Scope uint8

// The scopes. Open needs no token at all: health, and the page of the
// dashboard, which holds no data.
const (
	Open  Scope = iota
	Read        // counts, listings, look-ups
	Write       // put, lease, settle
	Admin       // delete, purge, pause, settings
)

var scopeNames = [...]string{Open: "open", Read: "read", Write: "write", Admin: "admin"}

// String returns the scope as typed in a token file.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope %d", uint8(s))
}

func parseScope(name string) (Scope, error) {
	for s := Read; s <= Admin; s++ {
		if scopeNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("cannot read scope; got %q; want read, write or admin", name)
}

// access is what a call needs of its token.
type access struct {
	need Scope
	rate rateKind
}

// calls has the access that each gRPC call needs. A call that isn't here needs Admin for all crawls, so that a new call is
// restricted by default.
var calls = map[string]access{
	frontierpb.URLFrontier_GetStats_FullMethodName:     {Read, noRate},
	frontierpb.URLFrontier_ListQueues_FullMethodName:   {Read, noRate},
	frontierpb.URLFrontier_ListCrawls_FullMethodName:   {Read, noRate},
	frontierpb.URLFrontier_ListNodes_FullMethodName:    {Read, noRate},
	frontierpb.URLFrontier_ListURLs_FullMethodName:     {Read, noRate},
	frontierpb.URLFrontier_CountURLs_FullMethodName:    {Read, noRate},
	frontierpb.URLFrontier_GetURLStatus_FullMethodName: {Read, noRate},
	frontierpb.URLFrontier_GetActive_FullMethodName:    {Read, noRate},

	frontierpb.URLFrontier_PutURLs_FullMethodName:         {Write, addRate},
	frontierpb.URLFrontier_PutDiscovered_FullMethodName:   {Write, addRate},
	frontierpb.URLFrontier_GetURLs_FullMethodName:         {Write, leaseRate},
	frontierpb.URLFrontier_BlockQueueUntil_FullMethodName: {Write, noRate},
	frontierpb.URLFrontier_SetDelay_FullMethodName:        {Write, noRate},

	frontierpb.URLFrontier_SetCrawlLimit_FullMethodName: {Admin, noRate},
	frontierpb.URLFrontier_PurgeURLs_FullMethodName:     {Admin, noRate},
	frontierpb.URLFrontier_DeleteQueue_FullMethodName:   {Admin, noRate},
	frontierpb.URLFrontier_DeleteCrawl_FullMethodName:   {Admin, noRate},
	frontierpb.URLFrontier_SetActive_FullMethodName:     {Admin, ofAll},
	frontierpb.URLFrontier_SetLogLevel_FullMethodName:   {Admin, ofAll},

	"/grpc.health.v1.Health/Check":                                   {Open, ofAll},
	"/grpc.health.v1.Health/Watch":                                   {Open, ofAll},
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {Read, ofAll},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {Read, ofAll},
}

func accessOf(fullMethod string) access {
	if a, ok := calls[fullMethod]; ok {
		return a
	}
	return access{need: Admin}
}

// grant is what a token allows. It does not change; a reload makes new ones.
type grant struct {
	name   string
	scope  Scope
	crawls []string // nil for all
	// adds and leases bound the URLs offered and handed out; nil for no bound.
	adds, leases *rate
}

// everything is what a call is allowed where no token is required.
var everything = grant{name: "-", scope: Admin}

// touches reports whether a grant is for a crawl. "*" is all crawls.
func (g *grant) touches(crawl string) bool {
	return g.crawls == nil || slices.Contains(g.crawls, cmp.Or(crawl, defaultCrawl))
}

// may reports whether a grant allows a call, but for its crawl: a token with a list of crawls
// cannot call what concerns all of them.
func (g *grant) may(a access) bool {
	return g.scope >= a.need && (g.crawls == nil || a.rate != ofAll)
}

// set sets what a word NAME=VALUE of a token file says.
func (g *grant) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "name":
		if g.name = value; value == "" || len(value) > 64 {
			return fmt.Errorf("cannot use name of %d bytes; want 1 to 64", len(value))
		}
	case "crawls":
		g.crawls = strings.Split(value, ",")
		for _, name := range g.crawls {
			if name == "" || name == "*" || name == frontier.OwnCrawl {
				return fmt.Errorf("cannot use crawls=; got crawl %q; want names with commas between them; for all crawls, leave it out", name)
			}
		}
	case "adds":
		g.adds, err = newRate(key, value)
	case "leases":
		g.leases, err = newRate(key, value)
	default: // it may be a token at the wrong place
		return fmt.Errorf("cannot read what follows the token; want name=, crawls=, adds= or leases=")
	}
	return err
}

// rateKind is what a call does that its token may have a rate for.
type rateKind uint8

// A token with a list of crawls may make all calls but those of ofAll, because guard checks the crawl of all that they read
// and change.
const (
	ofAll  rateKind = iota // it concerns all crawls
	noRate                 // nothing
	addRate
	leaseRate
)

func (g *grant) rate(k rateKind) *rate {
	switch k {
	case addRate:
		return g.adds
	case leaseRate:
		return g.leases
	}
	return nil
}

// rate bounds URLs per second. They are paid for afterwards: when more were offered or handed
// out, the next piece of work waits. So no batch is too large for a rate. Safe for concurrent use.
type rate struct {
	perSecond float64

	mu   sync.Mutex
	paid time.Time // when all of before is paid
}

func newRate(key, text string) (*rate, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0.001 && n <= 1e9) {
		return nil, fmt.Errorf("cannot use %s=; got %.40q; want URLs per second, 0.001 to 1e9", key, text)
	}
	return &rate{perSecond: n}, nil
}

// charge adds the time of n URLs to the debt of the token.
func (r *rate) charge(n int) {
	if r == nil || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(time.Duration(min(float64(n)/r.perSecond, 1e6) * float64(time.Second)))
}

// owed returns the time until the debt is paid.
func (r *rate) owed() time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(time.Until(r.paid), 0)
}

// keep returns the rate of before a reload, with its debt, if the rate is the same.
func (r *rate) keep(before *rate) *rate {
	if r != nil && before != nil && r.perSecond == before.perSecond {
		return before
	}
	return r
}

// rateOf returns the rate of a call now, nil if it has none.
func (s *gate) rateOf(ctx context.Context) *rate {
	c := callOf(ctx)
	if s.tokens == nil || c == nil {
		return nil
	}
	have := s.tokens.of(c.token)
	if have == nil {
		return nil
	}
	return have.rate(c.rate)
}

// rest blocks until the token of a call has paid its debt, or the server drains.
// It must not be called within a turn, whose units others wait for.
func (s *gate) rest(ctx context.Context) error {
	for {
		owed := s.rateOf(ctx).owed()
		if owed == 0 || s.isDraining() {
			return nil
		}
		timer := time.NewTimer(min(owed, time.Second)) // a reload may change the rate
		select {
		case <-timer.C:
		case <-s.draining:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// defaultCrawl is the crawl of calls that name none.
const defaultCrawl = store.DefaultCrawl

// keyring holds the current certificate, and is renewed without a restart.
type keyring struct {
	files   TLSConfig
	current atomic.Pointer[tls.Config]
}

func loadKeyring(c TLSConfig) (*keyring, error) {
	if !c.enabled() {
		return nil, nil
	}
	k := &keyring{files: c}
	return k, k.reload()
}

// reload reads the files again; on error the certificate stays as it was.
func (k *keyring) reload() error {
	if k == nil {
		return nil
	}
	switch {
	case k.files.CertFile == "":
		return fmt.Errorf("cannot serve TLS; got no certificate; want --tls-cert")
	case k.files.KeyFile == "":
		return fmt.Errorf("cannot serve TLS; got no key of the certificate; want --tls-key")
	}
	cert, err := tls.LoadX509KeyPair(k.files.CertFile, k.files.KeyFile)
	if err != nil {
		return fmt.Errorf("cannot load certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	if k.files.ClientCAFile != "" {
		if c.ClientCAs, err = loadRoots(k.files.ClientCAFile); err != nil {
			return err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	k.current.Store(c)
	return nil
}

func loadRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot load client roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot load client roots of %s; got no certificate; want PEM", file)
	}
	return pool, nil
}

// config returns a configuration that looks up the current certificate at
// each handshake and offers these protocols.
func (k *keyring) config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := k.current.Load().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// TLSConfig names the files of a server's certificate. The zero value serves
// in the clear.
type TLSConfig struct {
	CertFile string // PEM chain, leaf first. The default is no TLS.
	KeyFile  string // PEM private key of CertFile. The default is none.
	// ClientCAFile holds the PEM roots that client certificates must chain
	// to; with it, a connection without one is refused. The default is to ask
	// for none.
	ClientCAFile string
}

func (c TLSConfig) enabled() bool { return c.CertFile != "" || c.KeyFile != "" || c.ClientCAFile != "" }
