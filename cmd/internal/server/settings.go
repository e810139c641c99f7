package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// changeOf checks settings and returns them as a change.
func changeOf(b *wire.QueueSettings) (store.QueueChange, error) {
	c := store.QueueChange{MaxInFlight: b.MaxInFlight, BlockedUntil: b.BlockedUntil, Limit: b.Limit, Paused: b.Paused, Group: b.Group, QueueLimit: b.QueueLimit}
	invalid := func(format string, args ...any) error {
		return fault.As(store.ErrInvalid, "cannot change a queue; "+format, args...)
	}
	switch {
	case b.Queue == "" && b.Crawl == "" && !b.All:
		return c, invalid("got no queue and no crawl; name one, or add --all (all, over HTTP) for the whole store")
	case b.All && (b.Queue != "" || b.Crawl != ""):
		return c, invalid("got all with a queue or a crawl; want one of them")
	case b.DefaultDelay && b.DelaySeconds != nil:
		return c, invalid("got default_delay with delay_seconds; want one of them")
	}
	if b.Order != "" && b.Queue != "" {
		return c, invalid("got the order of a queue; want that of a crawl")
	}
	if b.Queue != "" && b.QueueLimit != nil {
		return c, invalid("got queue_limit (--queue-limit) of a queue; want its limit (--limit), or name the crawl alone")
	}
	if b.Queue != "" && b.RetentionSeconds != nil {
		return c, invalid("got retention_seconds (--retention) of a queue, but a URL that is done may be kept without its queue; name the crawl alone")
	}
	if b.RetentionSeconds != nil {
		retention := time.Duration(*b.RetentionSeconds * float64(time.Second))
		c.Retention = &retention
	}
	if n := b.Weight; n != nil {
		weight := uint8(*n)
		c.Weight = &weight
	}
	if b.DefaultDelay {
		c.Delay = new(time.Duration)
	}
	if d := b.DelaySeconds; d != nil {
		delay := delayOf(*d)
		c.Delay = &delay
	}
	return c, nil
}

// steers reports whether only an operator may change these settings: a crawler delays, blocks and bounds its queues.
func steers(b *wire.QueueSettings) bool {
	return b.Queue == "" || b.Limit != nil || b.Paused != nil || b.Weight != nil || b.Group != nil
}

// configure changes the settings of a queue, a crawl or the store, and returns the old and new values.
func (s *service) configure(ctx context.Context, b *wire.QueueSettings) (is wire.Configured, err error) {
	change, err := changeOf(b)
	if err != nil {
		return is, err
	}
	is = wire.Configured{Scope: "queue", Crawl: crawlName(b.Crawl), Queue: b.Queue}
	crawl := "*"
	if b.All {
		is.Scope, is.Crawl = "store", ""
	} else {
		if b.Queue == "" {
			is.Scope = "crawl"
		}
		crawl, err = oneCrawl(b.Crawl)
	}
	if err = cmp.Or(err, s.f.check(ctx, crawl)); err == nil && !b.All && !b.Create {
		err = s.mustExist(ctx, crawl, b.Queue)
	}
	if err != nil {
		return is, err
	}
	was, err := s.settingsOf(ctx, crawl, b.Queue)
	if err == nil {
		err = s.f.Configure(ctx, crawl, b.Queue, change)
	}
	if err == nil && b.Order != "" {
		err = s.f.SetDepthFirst(ctx, crawl, b.Order == "depth")
	}
	if err != nil {
		return is, err
	}
	now, err := s.settingsOf(ctx, crawl, b.Queue)
	if err != nil {
		return is, err
	}
	if b.All {
		s.paused.Store(now.Paused)
	}
	is.Was, is.Is = was, now
	return is, nil
}

// mustExist returns an error for a queue, or a crawl, that has neither URLs nor settings.
func (s *service) mustExist(ctx context.Context, crawl, queue string) error {
	crawls, err := s.f.Crawls(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(crawls, crawl) {
		return fault.As(store.ErrNotFound, "cannot find crawl %q, among %d crawls; if it is to come, add --create (create, over HTTP)", crawl, len(crawls))
	}
	if queue == "" {
		return nil
	}
	if _, err = s.f.Queue(ctx, crawl, queue); errors.Is(err, store.ErrNotFound) {
		return fault.As(store.ErrNotFound, "cannot find queue %q in crawl %q; if it is to come, add --create (create, over HTTP)", queue, crawl)
	}
	return err
}

// settingsOf returns the settings of a queue, a crawl or the store.
func (s *service) settingsOf(ctx context.Context, crawl, queue string) (wire.Settings, error) {
	if queue == "" {
		set, err := s.f.Settings(ctx, crawl)
		w := wireSettings(&set.QueueSettings)
		w.QueueLimit, w.RetentionSeconds = set.QueueLimit, set.Retention.Seconds()
		if s.f.own != nil && s.f.own.DepthFirst(crawl) {
			w.Order = "depth"
		}
		return w, err
	}
	q, err := s.f.Queue(ctx, crawl, queue)
	if errors.Is(err, store.ErrNotFound) {
		return wire.Settings{}, nil
	}
	return wireSettings(&q.QueueSettings), err
}

func boundsOf(s *store.QueueSettings) wire.Bounds {
	b := wire.Bounds{MaxInFlight: s.MaxInFlight, BlockedUntil: s.BlockedUntil, Limit: s.Limit, Weight: s.Weight, Group: s.Group}
	if s.Delay != 0 {
		b.DelaySeconds = new(max(s.Delay, 0).Seconds())
	}
	return b
}

func wireSettings(s *store.QueueSettings) wire.Settings {
	return wire.Settings{Bounds: boundsOf(s), Paused: s.Paused}
}

// delayOf returns the delay of some seconds as a store has it: none is negative there, because 0
// is the default.
func delayOf(seconds float64) time.Duration {
	if seconds == 0 {
		return -1
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Nanosecond)
}

// forgetIn makes URLs of a crawl new again and returns how many it forgot.
func forgetIn(ctx context.Context, f *frontier.Frontier, crawl string, r *wire.ForgetRequest) (int64, error) {
	if err := checkForget(r); err != nil {
		return 0, fault.As(store.ErrInvalid, "cannot forget; %w", err)
	}
	if r.Held {
		return purge(ctx, f, crawl, r.Queue, r.Before)
	}
	sel := frontier.Selection{Crawl: crawl, Queue: r.Queue, Before: r.Before}
	for _, u := range r.URLs {
		sel.URLs = append(sel.URLs, frontier.Link{URL: wire.TextOr(u.URL, u.URLBytes), Queue: u.Queue, Discriminator: u.Discriminator})
	}
	return f.Forget(ctx, sel)
}

// checkForget returns an error unless a request names one thing.
func checkForget(r *wire.ForgetRequest) error {
	named := 0
	for _, is := range []bool{len(r.URLs) > 0, r.Queue != "" && !r.Held, !r.Before.IsZero(), r.All} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("got %d of urls, queue, before and all; want one", named)
	case r.Held && r.Before.IsZero():
		return fmt.Errorf("got held without before; want the time before which held URLs were found")
	}
	return nil
}

// purge forgets URLs by age, whatever their state. Those whose text is kept are found by a scan;
// the rest by the store's own means, where no queue is named.
func purge(ctx context.Context, f *frontier.Frontier, crawl, queue string, before time.Time) (sum int64, err error) {
	sum, _, err = f.Change(ctx, frontier.Query{Crawl: crawl, Queue: queue, Before: before}, frontier.ActionForget)
	if errors.Is(err, store.ErrNoTexts) {
		err = nil
	}
	if err != nil || queue != "" {
		return sum, err
	}
	n, err := f.Forget(ctx, frontier.Selection{Crawl: crawl, Before: before})
	return sum + n, err
}

// oneCrawl returns the crawl that a call changes. It refuses "*", which stands for all
// crawls: no call of the protocol changes all of them.
func oneCrawl(id string) (string, error) {
	crawl := crawlName(id)
	if crawl == "*" || crawl == frontier.OwnCrawl {
		return "", status.Errorf(codes.InvalidArgument, "cannot change crawl %q; want the name of one crawl of URLs", crawl)
	}
	return crawl, nil
}

func (s *service) forget(ctx context.Context, crawl string, r *wire.ForgetRequest) (int64, error) {
	n, err := s.f.Forget(ctx, crawl, r)
	if err == nil {
		s.log.Info("forgot URLs", "crawl", crawl, "queue", r.Queue, "urls", n)
	}
	return n, err
}

// pause pauses or resumes all queues.
func (s *service) pause(ctx context.Context, paused bool) error {
	if err := s.f.own.Configure(ctx, "*", "", store.QueueChange{Paused: &paused}); err != nil {
		return err
	}
	s.paused.Store(paused)
	s.log.Info("changed whether queues may be served", "active", !paused)
	return nil
}

// localPause records whether this one of several daemons leases nothing. Safe for
// concurrent use; the zero value is not paused.
type localPause struct {
	mu      sync.Mutex
	paused  bool
	changed chan struct{} // closed at the next change, nil while no goroutine waits
}

func (l *localPause) set(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil && paused != l.paused {
		close(l.changed)
		l.changed = nil
	}
	l.paused = paused
}

// look returns the state, and a channel that is closed when it changes.
func (l *localPause) look() (paused bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.paused, l.changed
}

func (l *localPause) now() bool {
	paused, _ := l.look()
	return paused
}

// readPause asks the store whether it is paused: another daemon may have changed that.
func (s *service) readPause(ctx context.Context) error {
	set, err := s.f.reader.Settings(ctx, "*")
	if err == nil {
		s.paused.Store(set.Paused)
	}
	return err
}

// The states of a queue. Of several that hold, the first of this list is reported.
const (
	statePaused   = "paused"    // by an operator, until resumed
	stateBlocked  = "blocked"   // until a time, or until the disk has room
	stateLimited  = "limited"   // as many of its pages as its limit were fetched or are leased
	stateEmpty    = "empty"     // there is no URL in it
	stateInFlight = "in-flight" // all its URLs are leased, or as many of it or its group as its bound allows
	stateDelayed  = "delayed"   // by its delay, or because its URLs are due later
	stateReady    = "ready"     // the next request gets a URL of it
)

// queueState is the state of a queue.
type queueState struct {
	Name string
	// Reason is the bound that holds the queue, in words; empty for stateReady and stateEmpty.
	Reason string
	// Next is when the state changes at the latest if nothing is done, zero if it does not or
	// that is not known: a lease may end at any time, and the store does not list their ends by
	// queue.
	Next time.Time
}

// scope is where a setting was made.
type scope struct {
	name string // "the queue"
	set  *store.QueueSettings
}

// is returns the beginning of a sentence about the scope.
func (s scope) is() string {
	if s.name == allQueues {
		return s.name + " are"
	}
	return s.name + " is"
}

const allQueues = "all queues"

// scopesOf lists where settings of a queue may come from, the nearest first.
func scopesOf(q *store.QueueInfo, d *QueueDefaults) []scope {
	return []scope{{"the queue", &q.QueueSettings}, {"the crawl", &d.Crawl.QueueSettings}, {allQueues, &d.Store.QueueSettings},
		{"the default", &store.QueueSettings{MaxInFlight: d.MaxInFlight, Delay: d.Delay}}}
}

// nearest returns the first scope that has a setting, and the setting.
func nearest[T comparable](scopes []scope, of func(*store.QueueSettings) T) (value T, from string) {
	for _, s := range scopes {
		if v := of(s.set); v != value {
			return v, s.name
		}
	}
	return value, ""
}

// queueStateOf returns the state of a queue.
func queueStateOf(q *store.QueueInfo, d QueueDefaults, now time.Time) queueState {
	scopes := scopesOf(q, &d)
	if d.Paused {
		return queueState{Name: statePaused, Reason: allQueues + " are paused"}
	}
	var blocked scope
	for _, s := range scopes {
		if s.set.Paused {
			return queueState{Name: statePaused, Reason: s.is() + " paused"}
		}
		if until := s.set.BlockedUntil; until.After(now) && (blocked.set == nil || until.After(blocked.set.BlockedUntil)) {
			blocked = s
		}
	}
	limit, crawlLimit := cmp.Or(q.Limit, d.Crawl.QueueLimit, d.Store.QueueLimit), cmp.Or(d.Crawl.Limit, d.Store.Limit)
	bound, boundFrom := nearest(scopes, func(s *store.QueueSettings) int { return s.MaxInFlight })
	switch {
	case blocked.set != nil:
		until := blocked.set.BlockedUntil
		return queueState{stateBlocked, blocked.is() + " blocked until " + timeText(until), until}
	case limit > 0 && q.Fetched >= limit:
		return queueState{Name: stateLimited, Reason: fmt.Sprintf("pages fetched: %d of at most %d", q.Fetched, limit)}
	case crawlLimit > 0 && d.Fetched >= crawlLimit:
		return queueState{Name: stateLimited, Reason: fmt.Sprintf("pages of the crawl fetched: %d of at most %d", d.Fetched, crawlLimit)}
	case q.Held == 0:
		return queueState{Name: stateEmpty}
	case q.Held == q.InFlight:
		return queueState{Name: stateInFlight, Reason: "all its URLs are leased"}
	case limit > 0 && q.Fetched+q.InFlight >= limit:
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d pages fetched and %d leased, of a limit of %d", q.Fetched, q.InFlight, limit)}
	case crawlLimit > 0 && d.Fetched+d.InFlight >= crawlLimit:
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d pages of the crawl fetched and %d leased, of a limit of %d", d.Fetched, d.InFlight, crawlLimit)}
	case bound > 0 && q.GroupInFlight >= int64(bound):
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d leased of its group %q, of at most %d by %s", q.GroupInFlight, q.Group, bound, boundFrom)}
	case bound > 0 && q.InFlight >= int64(bound):
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d leased, of at most %d by %s", q.InFlight, bound, boundFrom)}
	case q.Next.After(now):
		return queueState{stateDelayed, delayedBy(q, scopes), q.Next}
	}
	return queueState{Name: stateReady}
}

// delayedBy is the reason for a time that is to come.
func delayedBy(q *store.QueueInfo, scopes []scope) string {
	delay, from := nearest(scopes, func(s *store.QueueSettings) time.Duration { return s.Delay })
	if delay > 0 && !q.LastTake.IsZero() && !q.Next.After(q.LastTake.Add(delay)) {
		return fmt.Sprintf("a delay of %v by %s, since %s", delay, from, timeText(q.LastTake))
	}
	if q.Next.Equal(q.GroupNotBefore) {
		return fmt.Sprintf("the delay after another queue of its group %q, until %s", q.Group, timeText(q.Next))
	}
	if q.Next.Equal(q.NotBefore) {
		return "a wait after its last fetches, which failed or were slow, or whose client asked for a longer delay, until " + timeText(q.Next)
	}
	return "its next URL is due at " + timeText(q.Next)
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// queueDefaults are what holds for queues of a crawl without settings of their own now.
func (s *service) queueDefaults(ctx context.Context, crawl string) (QueueDefaults, error) {
	d := s.cfg.Queues
	var err error
	if d.Store, err = s.f.reader.Settings(ctx, "*"); err != nil {
		return d, err
	}
	if d.Crawl, err = s.f.reader.Settings(ctx, crawl); err != nil {
		return d, err
	}
	if cmp.Or(d.Crawl.Limit, d.Store.Limit) > 0 {
		st, err := s.f.reader.Stats(ctx, crawl)
		if d.Fetched, d.InFlight = st.Fetched, st.InFlight; err != nil {
			return d, err
		}
	}
	d.Paused = d.Store.Paused || s.pausedHere.now()
	return d, nil
}
