package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// service is the frontier as calls reach it over either interface: checked by token, counted, in turns, refused on a full
// disk, paused.
type service struct {
	*gate
	cfg   Config
	f     guard
	disk  *diskGate
	store *storeWatch
	local bool // serves a command on a store, not a daemon: changes are not logged

	reloadFailed atomic.Bool // the latest time

	paused     atomic.Bool // nothing is handed out
	pausedHere localPause  // nothing is handed out by this one of several daemons

	addLists  sync.Pool // of *addList
	offerings sync.Pool // of *[]offered
}

func newService(cfg Config, f guard) *service {
	return &service{gate: newGate(cfg), cfg: cfg, f: f, disk: newDiskGate(cfg.Dir, cfg.MinFree, cfg.Logger), store: newStoreWatch()}
}

// crawlName reads blanks as no name, as URLFrontier does.
func crawlName(id string) string {
	if strings.TrimSpace(id) == "" {
		return defaultCrawl
	}
	return id
}

// dateOf is the wire form of a time, 0 for none.
func dateOf(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.Unix(), 1))
}

// codeOf says whose doing an error is, in gRPC's terms.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	for _, c := range []struct {
		is   error
		code codes.Code
	}{
		{store.ErrNotFound, codes.NotFound},
		{store.ErrInvalid, codes.InvalidArgument},
		{canon.ErrURL, codes.InvalidArgument},
		{canon.ErrScheme, codes.InvalidArgument},
		{canon.ErrTooLong, codes.InvalidArgument},
		{frontier.ErrStale, codes.FailedPrecondition},
		{store.ErrIdentity, codes.FailedPrecondition},
		{store.ErrClosed, codes.Unavailable},
		{store.ErrFailed, codes.Unavailable},
		{store.ErrUnavailable, codes.Unavailable},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	return codes.Internal
}

// fault returns an error of the frontier as a status, and logs it unless the client
// or the end of the daemon caused it.
func (s *service) fault(what string, err error) error {
	code := codeOf(err)
	if code == codes.Internal || code == codes.Unavailable && !errors.Is(err, errDraining) {
		s.log.Error("cannot "+what, "error", err)
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(code, err.Error())
}

// wireURL returns a URL as protobuf and JSON text can carry it: of one that is not UTF-8, with
// its invalid bytes escaped, as browsers do. In crawls with canonical dedup that is a
// variant of the same page, so a client that fetches it and states the result is understood.
func wireURL(url string) string {
	if utf8.ValidString(url) {
		return url
	}
	out := make([]byte, 0, len(url)+16)
	for len(url) > 0 {
		r, size := utf8.DecodeRuneInString(url)
		if r == utf8.RuneError && size == 1 {
			out = fmt.Appendf(out, "%%%02X", url[0])
		} else {
			out = append(out, url[:size]...)
		}
		url = url[size:]
	}
	return string(out)
}

// perAnswer is about what an answer takes besides its bytes.
const perAnswer = 64

// profileOf is the profile that makes the keys of a crawl.
func (s *service) profileOf(crawl string) *canon.Profile {
	if p := s.f.Profile(crawl); p.Name() != s.f.Profile("*").Name() {
		return p
	}
	return s.cfg.Profile()
}

// identityOf returns what makes the keys of a crawl: for "*" and a crawl that is not there, those of the store.
func (s *service) identityOf(ctx context.Context, crawl string) (store.Identity, error) {
	if s.cfg.Exports == nil {
		return store.IdentityOf(s.cfg.Profile()), nil
	}
	c, err := frontier.FindCrawl(ctx, s.cfg.Exports, crawl)
	if errors.Is(err, store.ErrNotFound) {
		return s.cfg.Exports.Identity(), nil
	}
	return c.Identity, err
}

// matcher returns a function that reports whether a URL contains a text.
func matcher(filter string, ignoreCase bool) func(string) bool {
	switch {
	case filter == "":
		return func(string) bool { return true }
	case ignoreCase:
		filter = strings.ToLower(filter)
		return func(u string) bool { return strings.Contains(strings.ToLower(u), filter) }
	}
	return func(u string) bool { return strings.Contains(u, filter) }
}

// pageSize is the size of a page for clients that don't say.
const pageSize = 100

// mostLogged bounds what the log has of a request.
const mostLogged = 4 << 10

// logSteering logs who steered what, at any log level: the name of the token and the address,
// never the token.
func (s *service) logSteering(ctx context.Context, c *call, request, outcome string) {
	if s.local {
		return
	}
	name := everything.name
	if s.tokens != nil {
		name = "revoked" // while the call ran
		if have := s.tokens.of(c.token); have != nil {
			name = have.name
		}
	}
	if len(request) > mostLogged {
		request = request[:mostLogged] + "…"
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "steered", 0)
	r.Add("by", name, "address", c.from.Address(), "call", c.method, "request", request, "outcome", outcome)
	_ = s.log.Handler().Handle(ctx, r) // whatever the level; a failed log cannot be reported
}

// Several daemons may serve one store, each all of it: a client may talk to any,
// and what one sets holds for all. What the protocol calls local is then each
// queue's share: every queue counts as local to exactly one of the daemons that
// live, so that a client which asks each of ListNodes and sums gets the whole once.

// beatEvery is the time between two signs of life. It is well below the time
// after which Members take a node for dead.
const beatEvery = 3 * time.Second

// Node is the name of this server among the nodes: by default its gRPC address, known after Listen.
func (s *service) Node() string { return s.cfg.Node }

// nodes returns the nodes that live, this one among them.
func (s *service) nodes(ctx context.Context) ([]string, error) {
	if s.cfg.Members == nil {
		return []string{s.Node()}, nil
	}
	return s.cfg.Members.Beat(ctx, s.Node())
}
