package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// How queued URLs that are excluded by now are forgotten: in the background, by one goroutine, when a crawl gets a rule, and of a queue
// in which an excluded URL was taken. Taking them one by one, as they come up, was tried first: each costs the queue its delay, and the
// URLs behind them wait.
//
// Who adds rules records in the store before and after that URLs of the crawl are to be forgotten, and who went through it takes that back
// if the rules are still those it began with: what others recorded is done then too. A process that ends before leaves them to the next
// frontier of the store, or where several share one to any of them: the record is a random number, which whoever has something to forget
// replaces every 5 s. One that stands still is taken over, by its watcher's clock alone. There the URLs are looked for only when all
// frontiers have read the rule.

// purges are the queues, and with "" as the queue the crawls, in which excluded URLs are to be forgotten.
type purges struct {
	mu      sync.Mutex
	pending map[queueName]time.Time // guarded by mu; from when on; the crawl may be "*" if the queue is ""
	current string                  // guarded by mu; the crawl that is gone through
	ended   chan struct{}           // guarded by mu; closed when the goroutine ends, nil if none runs
	err     error                   // guarded by mu; the first since WaitExcluded returned one
}

// queueName names a queue of a crawl.
type queueName struct{ crawl, queue string }

const (
	// maxPurges bounds the queues that wait. One that found no room is met again. A crawl always finds room.
	maxPurges = 1024
	// purgeAtOnce is how many excluded URLs are forgotten in one step.
	purgeAtOnce = 1000
)

// WaitExcluded waits until the queued URLs that were excluded by rules so far are forgotten, or the context ends. Close does not wait for them: they
// are forgotten by the next frontier of the store. So are those that could not be forgotten since the last call: the error is why.
func (f *Frontier) WaitExcluded(ctx context.Context) error {
	f.purges.mu.Lock()
	ended := f.purges.ended
	f.purges.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("not all URLs that are excluded are forgotten yet: %w", ctx.Err())
		}
	}
	f.purges.mu.Lock()
	defer f.purges.mu.Unlock()
	err := f.purges.err
	f.purges.err = nil
	return err
}

// purgesStand is how often a record is read unchanged until it is taken over: for 20 s.
const purgesStand = 4

// purgeRecord is what setForgetting recorded of a crawl.
type purgeRecord struct {
	crawl  string
	number int64
}

// watchPurges reads the rules, as loadExclusions does, takes over the records that stand still, and replaces those of the crawls in which
// this frontier forgets URLs. It takes and returns how often each was read.
func (f *Frontier) watchPurges(ctx context.Context, before map[purgeRecord]int) (now map[purgeRecord]int, err error) {
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	unforgotten, err := f.readExclusions(ctx)
	now = make(map[purgeRecord]int)
	for crawl, number := range unforgotten {
		r := purgeRecord{crawl, number}
		now[r] = before[r] + 1
		if now[r] > purgesStand {
			f.purges.add(f, queueName{crawl, ""}, 0)
		}
	}
	for crawl := range f.purges.crawls() {
		err = errors.Join(err, setForgetting(ctx, f.store, crawl, newNumber()))
	}
	return now, err
}

// crawls returns the crawls that wait, and the one that is taken.
func (p *purges) crawls() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	crawls := make(map[string]bool)
	for q := range p.pending {
		if q.queue == "" {
			crawls[q.crawl] = true
		}
	}
	if p.current != "" {
		crawls[p.current] = true
	}
	return crawls
}

func newNumber() int64 { return 1 + rand.Int64N(1<<50) }

// setForgetting records whether queued URLs of a crawl, or with "*" of all, are to be forgotten: 0 for no.
func setForgetting(ctx context.Context, s store.Store, crawl string, limit int64) error {
	if err := s.Configure(ctx, OwnCrawl, ruleKey(crawl, forgetting), store.QueueChange{Limit: &limit}); err != nil {
		return fmt.Errorf("cannot record that excluded URLs of crawl %q are forgotten: %w", crawl, err)
	}
	return nil
}

// add makes a queue wait for so long at least; the call of the frontier that adds it must be one that Close waits for.
func (p *purges) add(f *Frontier, q queueName, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.queue != "" && len(p.pending) >= maxPurges {
		return
	}
	p.pending[q] = time.Now().Add(wait)
	if p.ended == nil {
		p.ended = make(chan struct{})
		f.working.Go(func() {
			for q, wait, ok := p.next(f); ok; q, wait, ok = p.next(f) {
				if wait > 0 {
					select {
					case <-time.After(min(wait, time.Second)): // others may come that need not wait
					case <-f.closing:
					}
				} else if err := f.purge(q); err != nil {
					f.opt.Logger.Warn("cannot forget what is excluded; it is forgotten when it is taken", "crawl", q.crawl, "error", err)
					p.failed(err)
				}
			}
		})
	}
}

// next takes the queue that comes first, or says how long it must wait. If there is none, or the frontier closes, the goroutine must end.
func (p *purges) next(f *Frontier) (q queueName, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.isClosing() {
		clear(p.pending)
	}
	for other, from := range p.pending {
		if !ok || from.Before(p.pending[q]) {
			q, ok = other, true
		}
	}
	if !ok {
		close(p.ended)
		p.ended = nil
		return q, 0, false
	}
	if wait = time.Until(p.pending[q]); wait <= 0 {
		delete(p.pending, q)
		if q.queue == "" {
			p.current = q.crawl
		}
	}
	return q, wait, true
}

// failed keeps an error for WaitExcluded. The URLs that it left are forgotten when they are taken.
func (p *purges) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = cmp.Or(p.err, err)
}

func (f *Frontier) isClosing() bool { return async.Closed(f.closing) }

// purge forgets the queued URLs of a queue or crawl that are excluded, until the frontier closes.
func (f *Frontier) purge(q queueName) error {
	if q.queue != "" {
		return f.purgeOnce(q)
	}
	ctx := context.Background()
	before, _, err := storedRules(ctx, f.store)
	if err == nil {
		err = f.purgeOnce(q)
	}
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	f.purges.mu.Lock()
	f.purges.current = "" // or watchPurges would record it again
	f.purges.mu.Unlock()
	if err != nil || f.isClosing() {
		return err
	}
	if err := setForgetting(ctx, f.store, q.crawl, 0); err != nil {
		return err
	}
	after, _, err := storedRules(ctx, f.store) // only now: another frontier may have added some until then
	if err != nil || !slices.Equal(before[q.crawl], after[q.crawl]) {
		err = errors.Join(err, setForgetting(ctx, f.store, q.crawl, newNumber()))
	}
	return err
}

// purgeOnce goes once through a queue or crawl.
func (f *Frontier) purgeOnce(q queueName) error {
	ctx := context.Background()
	crawls, err := []string{q.crawl}, error(nil)
	if q.queue == "" { // who added a rule may have failed to read it
		if _, err := f.loadExclusions(ctx); err != nil {
			return err
		}
	}
	if q.crawl == "*" {
		crawls, err = f.Crawls(ctx)
	}
	for _, crawl := range crawls {
		if !f.isClosing() {
			err = errors.Join(err, f.purgeQueue(ctx, crawl, q.queue))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot look for URLs that are excluded: %w", err)
	}
	return nil
}

func (f *Frontier) purgeQueue(ctx context.Context, crawl, queue string) error {
	c, err := f.crawl(ctx, crawl, false)
	if err != nil {
		return err
	}
	id := f.identifier(c)
	var found []keyedURL
	for e, err := range f.store.Entries(ctx, c.stored, queue) {
		if err != nil {
			return err
		}
		if f.isClosing() {
			break
		}
		if e.State != store.Queued {
			continue
		}
		if _, ok := id.excluded(e.URL); ok {
			found = append(found, keyedURL{e.Key, e.URL})
		}
		if len(found) == purgeAtOnce {
			if _, err := f.dropExcluded(ctx, c, found); err != nil {
				return err
			}
			found = found[:0]
		}
	}
	_, err = f.dropExcluded(ctx, c, found)
	return err
}

// keyedURL is a URL of a crawl.
type keyedURL struct {
	key store.Key
	url string
}

// dropExcluded forgets those of some URLs, queued or taken by this call, that are excluded, in one step, and counts them. It
// returns their keys, in order.
func (f *Frontier) dropExcluded(ctx context.Context, c *crawl, urls []keyedURL) (forgotten []store.Key, err error) {
	keys, gone := f.excludedOf(c, urls)
	if len(keys) > 0 && f.poll > 0 { // another frontier may have taken a rule back, and what is forgotten is lost
		if _, err := f.loadExclusions(ctx); err != nil {
			return nil, err
		}
		keys, gone = f.excludedOf(c, urls)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if _, err := f.store.Forget(ctx, store.Selection{Crawl: c.stored, Keys: keys}); err != nil {
		return nil, fmt.Errorf("cannot forget URLs that are excluded: %w", err)
	}
	f.rooms.wake(c.name)
	for k, urls := range gone {
		f.noteGone(k, urls)
	}
	return keys, nil
}

// excludedOf returns the keys of those of some URLs that are excluded, and the URLs as they are counted.
func (f *Frontier) excludedOf(c *crawl, urls []keyedURL) (keys []store.Key, gone map[refusalKey][]string) {
	if len(urls) == 0 || !f.mayExclude() {
		return nil, nil
	}
	id := f.identifier(c)
	gone = make(map[refusalKey][]string)
	for _, u := range urls {
		if rule, ok := id.excluded(u.url); ok {
			k := refusalKey{crawl: c.name, reason: ReasonExcluded, dropped: true, rule: rule}
			keys, gone[k] = append(keys, u.key), append(gone[k], u.url)
		}
	}
	return keys, gone
}
