package server

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/internal/async"
)

// Each call goes through the same steps, over gRPC and HTTP:
//
//  1. Its connection is one of the listener's. There are Config.MaxConnections on a port, an
//     address has a share of them, and connections without a call that was let in make room.
//  2. Its token is checked before anything of its body is received. Without tokens, the
//     client is the address. What fails is answered, counted and logged.
//  3. It takes one of Config.MaxCalls places, of which its client has a share, until its
//     last byte is sent; while it waits for a lease, one of maxWaiting instead. A call
//     that finds none is refused: RESOURCE_EXHAUSTED, 429. Health takes none.
//  4. What it receives, decodes, holds for a commit and answers counts in bytes of memory.
//     A call whose client has its share is not read until something is free again.
//  5. Its work for the frontier is done in turns, see Server.turn: a client has few units of
//     it in progress while other clients work, too.
//  6. A client that takes none of the answers of a call for Server.patience loses the call;
//     while another waits for memory, after Server.hurry.

const (
	// maxWaiting bounds the calls that wait for a lease.
	maxWaiting = 4096
	// singleBytes is for steps of one URL when there is no more of Config.MaxInHand.
	singleBytes = 8 << 20
	// maxLate bounds the calls that waited for leases and, with these in memory, wait to
	// pay for them, see payForLeases.
	maxLate = 16
	// maxOpen bounds the calls without a token that last: watches of health, and pages.
	maxOpen = 256
	// strangeBytes bounds what all connections without a call that was let in may have sent.
	strangeBytes = 4 << 20
	// defaultPatience and defaultHurry are those of a Server.
	defaultPatience, defaultHurry = 30 * time.Second, 5 * time.Second
	// paceBurst and paceEvery bound what a client may do that costs the server more than it:
	// paceBurst times in a burst, then once per paceEvery.
	paceBurst, paceEvery = 200, 5 * time.Millisecond
	// newcomerEvery bounds the connections of addresses that no client was let in from,
	// beyond a burst of as many as may be open: to set up one takes about 200 µs.
	newcomerEvery = 5 * time.Millisecond
	// strangeFailures is how many calls of such a connection may fail for their token.
	strangeFailures = 16
)

// gate is what each call passes: who calls, what that client may do and how much.
type gate struct {
	log       *slog.Logger
	tokens    *tokens
	count     *counters
	admission *admission
	failures  failureLog
	// patience and hurry are how long a client may leave the answers of a call untaken:
	// hurry while another waits for memory.
	patience, hurry time.Duration
	draining        chan struct{} // closed when the server begins to end
}

func newGate(cfg Config) *gate {
	return &gate{log: cfg.Logger, admission: newAdmission(cfg), patience: defaultPatience, hurry: defaultHurry, draining: make(chan struct{})}
}

// isDraining reports whether the server is ending.
func (s *gate) isDraining() bool { return async.Closed(s.draining) }

// recovered turns a panic of one call into an error of that call and a log
// entry: a daemon that leases for many must outlive a bug in a listing.
func (s *gate) recovered(method string, err *error) {
	if v := recover(); v != nil {
		s.log.Error("call panicked", "call", method, "panic", v, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error, see the server's log")
	}
}

// admission is what all calls share.
type admission struct {
	calls    *admit.Pool
	waiting  *admit.Pool
	late     *admit.Pool // calls in payLate
	single   *admit.Pool // bytes, see payForLeases
	open     *admit.Places
	inHand   *admit.Pool // bytes that were decoded, wait for a commit, or are being answered
	received *admit.Pool // bytes that were received and not decoded
	strange  *admit.Pool // the same, of connections without a call that was let in
	work     *admit.Work // see turn
	resets   *admit.Pace // calls that clients began and reset
	asking   *admit.Pace // calls of connections without a call that was let in
	// newcomers are the addresses that clients with tokens were let in from.
	newcomers *admit.Newcomers

	mu     sync.Mutex
	active map[*call]struct{}
}

func newAdmission(c Config) *admission {
	return &admission{
		calls:    admit.NewPool(int64(c.MaxCalls)),
		waiting:  admit.NewPool(maxWaiting),
		late:     admit.NewPool(maxLate),
		single:   admit.NewPool(singleBytes),
		open:     admit.NewPlaces(maxOpen, maxOpen),
		inHand:   admit.NewPool(c.MaxInHand),
		received: admit.NewPool(max(c.MaxInHand, 8*int64(c.MaxMessage))),
		strange:  admit.NewPool(strangeBytes),
		work:     newWork(),
		resets:   admit.NewPace(paceBurst, paceEvery),
		asking:   admit.NewPace(paceBurst, paceEvery),

		newcomers: admit.NewNewcomers(max(1, c.MaxConnections/8), newcomerEvery),
		active:    make(map[*call]struct{}),
	}
}

// call is a call under way.
type call struct {
	method string
	client admit.Client
	from   admit.Client // its address
	access
	token  [sha256.Size]byte // digest, zero for none
	steers bool              // Admin was needed for a field of the request
	// refused is why the call isn't served, nil if it is.
	refused error
	// end ends the call with an error.
	end func(error)
	// cut ends its connection.
	cut func()
	// stream is the call over gRPC.
	stream *admit.Stream
	// open is the place of a call without a token.
	open *admit.Place

	handler atomic.Pointer[context.CancelCauseFunc] // ends the context of the handler over gRPC

	unsent *holding // of what gRPC may keep of its answers; with admission.mu locked

	place   atomic.Pointer[admit.Pool] // that it has a place of; nil for none
	sending atomic.Int64               // when the answer began that is being sent, ns since 1970; 0 for none
	done    atomic.Int64               // when its handler returned; 0 before
}

type callKey struct{}

// callOf returns the call of a context, nil if it is of none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// enter takes a place of a pool for a call. leave must follow.
func (a *admission) enter(c *call, pool *admit.Pool) error {
	if !pool.Try(c.client, 1) {
		return errBusy
	}
	c.place.Store(pool)
	a.note(c)
	return nil
}

// enterOpen does the same for a call without a token. It refuses none: the oldest other
// one ends for it.
func (a *admission) enterOpen(c *call) error {
	if c.open = a.open.Enter(c.client, func() { c.drop(errCrowded) }); c.open == nil {
		return errBusy
	}
	a.note(c)
	return nil
}

// drop ends a call whose answer can't be finished: over HTTP with its connection, so that the
// kernel discards the bytes that the client has not read.
func (c *call) drop(err error) {
	c.end(err)
	if c.stream == nil {
		c.cut()
	}
}

// errCrowded ends a call without a token for another.
var errCrowded = status.Error(codes.ResourceExhausted, "too many calls without a token; the oldest ends for the newest")

func (a *admission) note(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active[c] = struct{}{}
}

// errBusy refuses a call that finds no place.
var errBusy = status.Error(codes.ResourceExhausted, "cannot take another call; the client or all clients together have too many under way")

// leave frees the place of a call. It does nothing for a call without one.
func (a *admission) leave(c *call) {
	if pool := c.place.Swap(nil); pool != nil {
		pool.Give(c.client, 1)
	}
	if c.open != nil {
		c.open.Leave()
	}
	a.mu.Lock()
	delete(a.active, c)
	unsent := c.unsent
	c.unsent = nil
	a.mu.Unlock()
	unsent.done()
}

// maxUnsent is about how much gRPC takes of the answers of a call before SendMsg blocks, with
// the message that goes beyond it.
const maxUnsent = 64<<10 + 128<<10

// keepUnsent keeps a share of memory for the answers of a call over gRPC that SendMsg has
// accepted: gRPC has some of them until the client takes them, also when the handler has returned.
func (a *admission) keepUnsent(c *call, held *holding) {
	held.keep(maxUnsent)
	a.mu.Lock()
	if _, active := a.active[c]; active && (c.unsent == nil || c.unsent.n < held.n) {
		held, c.unsent = c.unsent, held
	}
	a.mu.Unlock()
	held.done()
}

// wait has a call change its place for one of those that wait for a lease.
func (a *admission) wait(c *call) error {
	if c == nil {
		return nil
	}
	if !a.waiting.Try(c.client, 1) {
		return errBusy
	}
	if before := c.place.Swap(a.waiting); before != nil {
		before.Give(c.client, 1)
		return nil
	}
	a.leave(c) // it has ended in the meantime
	return context.Canceled
}

// all returns the calls under way.
func (a *admission) all() []*call {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := make([]*call, 0, len(a.active))
	for c := range a.active {
		calls = append(calls, c)
	}
	return calls
}

// sends records that an answer of the call is being sent, until sent is called. It returns
// false within another such answer, whose start counts then.
func (c *call) sends() bool {
	return c.sending.Load() == 0 && c.sending.CompareAndSwap(0, time.Now().UnixNano()) // each message of an answer asks
}

func (c *call) sent() { c.sending.Store(0) }

// errStalled ends a call whose client doesn't take its answers.
var errStalled = status.Error(codes.Aborted, "the client did not take the answers of the call in time; send what has no answer again")

// errRevoked ends a call whose token is not valid any more.
var errRevoked = status.Error(codes.Unauthenticated, "the token of the call is not valid any more")

// sweepEvery is how often calls are looked at that may have stalled.
const sweepEvery = 500 * time.Millisecond

// endStalled ends calls whose clients don't take their answers, until ctx ends.
func (s *gate) endStalled(ctx context.Context) {
	for async.Sleep(ctx, sweepEvery) == nil {
		patience := s.patience
		if s.admission.inHand.Waits() {
			patience = min(patience, s.hurry)
		}
		before := time.Now().Add(-patience).UnixNano()
		for _, c := range s.admission.all() {
			if at := c.sending.Load(); at != 0 && at < before {
				s.count.stalled.Inc()
				c.drop(errStalled)
			}
			// gRPC keeps what a call sent until the client takes it.
			if at := c.done.Load(); at != 0 && at < before {
				s.count.stalled.Inc()
				c.cut()
			}
		}
	}
}

// endRevoked ends the calls whose tokens don't allow them any more.
func (s *gate) endRevoked() {
	if s.tokens == nil {
		return
	}
	for _, c := range s.admission.all() {
		if have := s.tokens.of(c.token); c.need != Open && (have == nil || !have.may(c.access)) {
			c.end(errRevoked)
		}
	}
}

// inHand returns an empty holding on the memory of a call: for decoded messages, batches that wait for a commit, and answers.
func (s *gate) inHand(ctx context.Context) *holding {
	return &holding{pool: s.admission.inHand, client: clientOf(ctx)}
}

// received does the same for what a call has received and not decoded. Calls that have
// received half of something may wait for each other, so that a wait has a bound.
func (s *gate) received(ctx context.Context) *holding {
	return &holding{pool: s.admission.received, client: clientOf(ctx), patience: s.patience}
}

func clientOf(ctx context.Context) admit.Client {
	if c := callOf(ctx); c != nil {
		return c.client
	}
	return admit.Client{}
}

// holding is what a client took of a pool of bytes for something. The zero value has none.
type holding struct {
	pool     *admit.Pool
	client   admit.Client
	patience time.Duration // how long take waits; 0 for no bound
	n        int64
}

// take waits until it can add n bytes, or half of the pool if that is less.
func (h *holding) take(ctx context.Context, n int64) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if h.patience > 0 {
		limited, cancel = context.WithTimeout(ctx, h.patience)
	}
	defer cancel()
	n, err := h.pool.Take(limited, h.client, n)
	h.n += n
	if err != nil && ctx.Err() == nil {
		err = errBusy
	}
	return err
}

// try adds n bytes if that is possible immediately, and reports whether it was.
func (h *holding) try(n int64) bool {
	ok := h.pool.Try(h.client, n)
	if ok {
		h.n += n
	}
	return ok
}

// keep returns all but n bytes to the pool.
func (h *holding) keep(n int64) {
	if n < h.n {
		h.pool.Give(h.client, h.n-n)
		h.n = n
	}
}

// done returns all bytes to the pool. A nil holding has none.
func (h *holding) done() {
	if h != nil {
		h.keep(0)
	}
}

// The units of work that may be in progress, see admit.Work. A unit takes about 10 µs of a
// processor, so that a call waits about 3 ms for each other client that is busy.
const (
	workAlone, workShared, workTotal = 8192, 256, 4096
	// callUnits is the work of a call that is not for a number of URLs.
	callUnits = 32
	// workRest is how long a client with a backlog rests for each unit while other clients work,
	// on a machine with one processor: with what the unit takes, half of the processor is left.
	workRest = 20 * time.Microsecond
)

func newWork() *admit.Work {
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	return admit.NewWork(admit.WorkBounds{Alone: workAlone, Shared: workShared, Total: workTotal,
		Rest: workRest / time.Duration(processors)})
}

type turnKey struct{}

// turn blocks until the client of a call may begin some of n units of work, and returns how
// many, and the context for that work, within which further work needs no turn. The caller
// must call end.
func (s *gate) turn(ctx context.Context, n int) (inside context.Context, got int, end func(), err error) {
	if ctx.Value(turnKey{}) != nil {
		return ctx, n, func() {}, nil
	}
	client := clientOf(ctx)
	if got, err = s.admission.work.Begin(ctx, client, n); err != nil {
		return nil, 0, nil, context.Cause(ctx)
	}
	return context.WithValue(ctx, turnKey{}, true), got, func() { s.admission.work.End(client, got) }, nil
}

// inTurn does something that is as much work as n URLs in a turn.
func (s *gate) inTurn(ctx context.Context, n int, do func(context.Context) error) error {
	inside, _, end, err := s.turn(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	return do(inside)
}

// inTurns does something to items, to some of them in each turn, and returns all results. After
// an error it returns the results of the turns before.
func inTurns[T, R any](ctx context.Context, s *gate, items []T, do func(context.Context, []T) ([]R, error)) (results []R, err error) {
	for done := 0; done < len(items); {
		some, n, err := oneTurn(ctx, s, items[done:], do)
		if err != nil {
			return results, err
		}
		if results == nil {
			results = some
		} else {
			results = append(results, some...)
		}
		done += n
	}
	return results, nil
}

// oneTurn is one turn of inTurns, and returns to how many items something was done.
func oneTurn[T, R any](ctx context.Context, s *gate, items []T, do func(context.Context, []T) ([]R, error)) ([]R, int, error) {
	if ctx.Value(turnKey{}) == nil {
		if err := s.rest(ctx); err != nil {
			return nil, 0, err
		}
	}
	inside, n, end, err := s.turn(ctx, len(items))
	if err != nil {
		return nil, 0, err
	}
	defer end()
	results, err := do(inside, items[:n])
	return results, n, err
}

// errDraining ends streams when the server does. Clients send again, on
// another connection, what has no ack.
var errDraining = status.Error(codes.Unavailable, "server is going down; send what has no ack again")
