package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// One goroutine forgets queued URLs that are excluded by now: those of a crawl when it gets a rule, those of a queue when an excluded URL was
// taken from it. Forgetting them only as they are taken was tried first: each costs the queue its delay, and the URLs behind
// them wait.
//
// Before a rule is kept, its crawl is marked in the store. The mark is removed after a pass, unless the crawl has got another rule since. A
// frontier that opens goes through marked crawls, and so does one where the rule is given again. Nobody watches over other frontiers of a
// shared store: what a killed one left is forgotten then, or, if another frontier has removed the mark meanwhile, when it is taken.

// purges are the queues in which excluded URLs are to be forgotten. Without a queue it is the whole crawl, or all crawls for "*".
type purges struct {
	mu      sync.Mutex
	pending map[queueName]bool // guarded by mu
	known   time.Time          // guarded by mu; by then all frontiers of a shared store have read the rules of the waiting crawls
	ended   chan struct{}      // guarded by mu; closed when the goroutine ends, nil if none runs
	err     error              // guarded by mu; the first since WaitExcluded returned one
}

// queueName names a queue of a crawl.
type queueName struct{ crawl, queue string }

const (
	// maxPurges bounds the queues that wait. One that found no room is met again. A crawl always finds room.
	maxPurges = 1024
	// purgeAtOnce is how many URLs are looked at, and those that are excluded forgotten, in one step.
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

// setForgetting marks a crawl, or with "*" all, as one with queued URLs to forget, or removes the mark.
func setForgetting(ctx context.Context, s store.Store, crawl string, is bool) error {
	var limit int64
	if is {
		limit = 1
	}
	if err := s.Configure(ctx, OwnCrawl, ruleKey(crawl, forgetting), store.QueueChange{Limit: &limit}); err != nil {
		return fmt.Errorf("cannot record that excluded URLs of crawl %q are forgotten: %w", crawl, err)
	}
	return nil
}

// add makes a queue wait; the call of the frontier that adds it must be one that Close waits for.
func (p *purges) add(f *Frontier, q queueName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.queue != "" && len(p.pending) >= maxPurges {
		return
	}
	p.pending[q] = true
	if q.queue == "" && f.poll > 0 {
		p.known = time.Now().Add(exclusionsKnown)
	}
	if p.ended == nil {
		p.ended = make(chan struct{})
		f.working.Go(func() {
			for q, ok := p.next(f); ok; q, ok = p.next(f) {
				if err := f.purge(q); err != nil {
					f.opt.Logger.Warn("cannot forget what is excluded; it is forgotten when it is taken", "crawl", q.crawl, "error", err)
					p.failed(err)
				}
			}
		})
	}
}

// next takes a queue. If there is none, or the frontier closes, the goroutine must end.
func (p *purges) next(f *Frontier) (q queueName, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.isClosing() {
		clear(p.pending)
	}
	for q = range p.pending {
		delete(p.pending, q)
		return q, true
	}
	close(p.ended)
	p.ended = nil
	return q, false
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
	ctx := context.Background()
	if q.queue != "" {
		return f.purgeQueue(ctx, q.crawl, q.queue)
	}
	f.purges.mu.Lock()
	known := f.purges.known // until then other frontiers may queue what the rules exclude
	f.purges.mu.Unlock()
	select {
	case <-time.After(time.Until(known)):
	case <-f.closing:
	}
	if _, err := f.loadExclusions(ctx); err != nil { // who added a rule may have failed to read it
		return err
	}
	var before []string
	if s := (*f.exclusions.sets.Load())[q.crawl]; s != nil {
		before = s.rules
	}
	crawls, err := []string{q.crawl}, error(nil)
	if q.crawl == "*" {
		crawls, err = f.Crawls(ctx)
	}
	for _, crawl := range crawls {
		err = errors.Join(err, f.purgeQueue(ctx, crawl, ""))
	}
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	if err != nil || f.isClosing() {
		return err
	}
	after, _, err := storedRules(ctx, f.store)
	added := func(rule string) bool { // both are in order
		_, was := slices.BinarySearch(before, rule)
		return !was
	}
	f.purges.mu.Lock()
	again := f.purges.pending[q] // for a rule that other frontiers may not know yet
	f.purges.mu.Unlock()
	if err != nil || again || slices.ContainsFunc(after[q.crawl], added) { // who added it goes through the crawl too
		return err
	}
	return setForgetting(ctx, f.store, q.crawl, false)
}

func (f *Frontier) purgeQueue(ctx context.Context, crawl, queue string) error {
	c, err := f.crawl(ctx, crawl, false)
	if err != nil {
		return err
	}
	var queued []keyedURL
	for e, err := range f.store.Entries(ctx, c.stored, queue) {
		if err != nil {
			return fmt.Errorf("cannot look for URLs that are excluded: %w", err)
		}
		if f.isClosing() {
			break
		}
		if e.State != store.Queued {
			continue
		}
		if queued = append(queued, keyedURL{e.Key, e.URL}); len(queued) == purgeAtOnce {
			if _, err := f.dropExcluded(ctx, c, queued); err != nil {
				return err
			}
			queued = queued[:0]
		}
	}
	_, err = f.dropExcluded(ctx, c, queued)
	return err
}

// keyedURL is a URL of a crawl.
type keyedURL struct {
	key store.Key
	url string
}

// dropExcluded forgets those of some URLs, queued or taken by this call, that are excluded, in one step, counts them, and returns
// their keys, in order. A purge and a report that puts a URL back may meet at it: so what counts is how many the store says that this call
// forgot. Which, it does not say: if they had different rules, one may get the count of another.
func (f *Frontier) dropExcluded(ctx context.Context, c *crawl, urls []keyedURL) ([]store.Key, error) {
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
	n, err := f.store.Forget(ctx, store.Selection{Crawl: c.stored, Keys: keys})
	if err != nil {
		return nil, fmt.Errorf("cannot forget URLs that are excluded: %w", err)
	}
	f.rooms.wake(c.name)
	for k, urls := range gone {
		if urls = urls[:min(int64(len(urls)), n)]; len(urls) > 0 {
			f.noteGone(k, urls)
		}
		n -= int64(len(urls))
	}
	return keys, nil
}

// excludedOf returns the keys of those of some URLs that are excluded, and the URLs as they are counted.
func (f *Frontier) excludedOf(c *crawl, urls []keyedURL) (keys []store.Key, gone map[refusalKey][]string) {
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
